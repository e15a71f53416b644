"""Tracing leaves no marks: random state, modules and optimizers are put back as they were (mlsdk.md 3.2).

The tracer never touches a real tensor (`lift`), so only Python objects can change while the function runs: module
attributes and buffers that are re-assigned, state that an optimizer creates at its first step.  Both are caught by
torch's global hooks at the moment before the object is used for the first time.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook

from compiler.frontend.errors import MutationError

_MODULE_TABLES = ("_parameters", "_buffers", "_modules")


class HostGuard:
    """The Python objects that traced code has used, as they were before."""

    def __init__(self) -> None:
        self._modules: dict[int, tuple[torch.nn.Module, dict[str, Any]]] = {}
        self._optimizers: dict[int, tuple[torch.optim.Optimizer, dict[Any, Any], list[dict[str, Any]]]] = {}

    def before_forward(self, module: torch.nn.Module, _args: Any) -> None:
        if id(module) not in self._modules:
            for child in module.modules():
                self._modules.setdefault(id(child), (child, _module_state(child)))

    def before_step(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if id(optimizer) not in self._optimizers:
            state = {key: dict(value) for key, value in optimizer.state.items()}
            groups = [dict(group) for group in optimizer.param_groups]
            self._optimizers[id(optimizer)] = (optimizer, state, groups)

    def check_lost_state(self, stand_in: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """Raise MutationError if the function replaced a buffer or made optimizer state: the program could not keep it.

        `stand_in` tells a tensor that was changed in place (its stand-in took its place) from another one.
        """
        for module, saved in self._modules.values():
            for name, old in saved["_buffers"].items():
                new = module._buffers.get(name)
                if old is not None and new is not old and new is not stand_in(old):
                    raise MutationError(
                        f"buffer '{name}' of {type(module).__name__} is replaced by a new tensor, which would be lost",
                        hint=f"write into the buffer: self.{name}.copy_(...)",
                    )
        for optimizer, state, _ in self._optimizers.values():
            for parameter, entries in optimizer.state.items():
                for name, value in entries.items():
                    if isinstance(value, torch.Tensor) and name not in state.get(parameter, {}):
                        raise MutationError(
                            f"{type(optimizer).__name__} makes its state '{name}' inside the function; that is lost",
                            hint="use an optimizer of mlsdk (MNCoreSGD, MNCoreAdam), which has it from the start",
                        )

    def restore(self) -> None:
        for module, saved in self._modules.values():
            _restore_module(module, saved)
        for optimizer, state, groups in self._optimizers.values():
            optimizer.state.clear()
            optimizer.state.update(state)
            for group, saved in zip(optimizer.param_groups, groups, strict=True):
                group.clear()
                group.update(saved)


@contextmanager
def host_unchanged() -> Iterator[HostGuard]:
    """Inside, code may run modules and optimizers; at the end they and the random generators are as at the start."""
    guard = HostGuard()
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.callback(random.setstate, random.getstate())
        if "numpy" in sys.modules:
            numpy_random = sys.modules["numpy"].random
            stack.callback(numpy_random.set_state, numpy_random.get_state())
        stack.callback(guard.restore)
        stack.callback(register_module_forward_pre_hook(guard.before_forward).remove)
        stack.callback(register_optimizer_step_pre_hook(guard.before_step).remove)
        yield guard


def _module_state(module: torch.nn.Module) -> dict[str, Any]:
    state = dict(module.__dict__)
    for table in _MODULE_TABLES:
        state[table] = dict(module.__dict__[table])
    return state


def _restore_module(module: torch.nn.Module, saved: dict[str, Any]) -> None:
    # The tables keep their identity: other objects may hold them.
    for table in _MODULE_TABLES:
        current = module.__dict__[table]
        current.clear()
        current.update(saved[table])
    tables = {table: module.__dict__[table] for table in _MODULE_TABLES}
    module.__dict__.clear()
    module.__dict__.update(saved | tables)
