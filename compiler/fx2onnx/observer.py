"""Runs a function on fake tensors and reports what the exporter would refuse, going on where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode
from torch.fx import traceback as fx_traceback

from compiler.frontend.lift import Discovery, LiftMode, is_real, make_fake
from compiler.frontend.signature import InputMapping
from compiler.frontend.source import SourceLine, current_line

OnEvent = Callable[[str, str, SourceLine | None], None]

_TO_PYTHON: dict[Any, Callable[[torch.Tensor], Any]] = {
    torch.Tensor.item: lambda value: torch.zeros((), dtype=value.dtype).item(),
    torch.Tensor.__bool__: lambda value: False,
    torch.Tensor.__int__: lambda value: 0,
    torch.Tensor.__index__: lambda value: 0,
    torch.Tensor.__float__: lambda value: 0.0,
    torch.Tensor.numpy: lambda value: torch.zeros(value.shape, dtype=value.dtype).numpy(),
}

_ASSIGNMENTS = frozenset({"__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"})


class _CannotGoOn(Exception):
    """Ends the run after an operation whose result has no known shape."""


class _ObservingMode(LiftMode):
    def __init__(self, discovery: Discovery, inputs: list[torch.Tensor], on_event: OnEvent) -> None:
        super().__init__(discovery.stand_in)
        self._inputs = {id(value) for value in inputs}
        self._on_event = on_event

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if func in _TO_PYTHON:
            self._on_event("python-scalar", f"{name}() makes a Python value of a tensor's contents", current_line())
            with torch._C._DisableTorchDispatch():
                return _TO_PYTHON[func](self.replace(args[0]))
        if args and isinstance(args[0], torch.Tensor) and _assigns(name):
            self._note_assignment(name, args[0])
        try:
            return super().__torch_function__(func, types, args, kwargs)
        except DynamicOutputShapeException as error:
            message = f"the shape of the result of {error.func} depends on values"
            self._on_event("dynamic-shape", message, current_line())
            raise _CannotGoOn from error

    def _note_assignment(self, name: str, target: torch.Tensor) -> None:
        if id(target) in self._inputs:
            self._on_event("input-assignment", f"{name}() changes an input of the function", current_line())
        elif is_real(target):
            text = f"{name}() changes a tensor outside of the function; the host sees it after synchronize"
            self._on_event("outside-assignment", text, current_line())


def _assigns(name: str) -> bool:
    return name in _ASSIGNMENTS or (name.endswith("_") and not name.endswith("__") and name != "requires_grad_")


def observed_run(
    function: Callable[..., Any], sample: Mapping[str, torch.Tensor], on_event: OnEvent
) -> tuple[Any, Callable[[torch.Tensor], torch.Tensor]]:
    """The function's result (None if it could not be run to its end) and the stand-ins of outside tensors."""
    fake_mode = FakeTensorMode()
    discovery = Discovery(fake_mode)
    fakes = {name: make_fake(fake_mode, value) for name, value in sample.items()}
    with fake_mode, fx_traceback.preserve_node_meta(), _ObservingMode(discovery, list(fakes.values()), on_event):
        try:
            return function(InputMapping(fakes)), discovery.stand_in
        except _CannotGoOn:
            return None, discovery.stand_in
