"""Stand-ins for the tensors that a function reaches without being given them: parameters, buffers, closure tensors.

A torch function mode sees every torch call that Python code makes.  Each real tensor among the arguments is replaced
by its stand-in (a fake tensor), so nothing is computed, no real tensor is read or written, and gradients, `.grad` and
in-place updates all happen on the stand-ins.  Python objects keep the real tensors, hence module tables, optimizer
groups and identity tests work as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx import traceback as fx_traceback
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from compiler.frontend.source import current_line

SOURCE_KEY = "mncore_source"
"""Key of a node's `meta["custom"]` that holds the user's line as `file.py:line`."""

# Bound methods of a descriptor are made anew at each access, so they are compared by value.
_READ_DATA = torch.Tensor.data.__get__  # type: ignore[attr-defined]
_WRITE_DATA = torch.Tensor.data.__set__  # type: ignore[attr-defined]


def is_real(value: object) -> bool:
    """True for a tensor that holds data, i.e. one that is not part of the trace."""
    return isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)


class LiftMode(TorchFunctionMode):
    """Calls every torch function with stand-ins; `stand_in(real)` may return its argument to embed it as a constant."""

    def __init__(self, stand_in: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._stand_in = stand_in

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, kwargs = tree_map(self.replace, (args, kwargs or {}))
        source = current_line()
        with fx_traceback.annotate({SOURCE_KEY: source.short if source else ""}):
            # `.data` bypasses the dispatcher and with it the trace; these two forms mean the same and are recorded.
            if func == _READ_DATA:
                return args[0].detach()
            if func == _WRITE_DATA:
                with torch.no_grad():
                    args[0].copy_(args[1])
                return None
            return func(*args, **kwargs)

    def replace(self, value: Any) -> Any:
        """The stand-in of a real tensor; any other value unchanged."""
        return self._stand_in(value) if is_real(value) else value


class Discovery:
    """First pass: makes stand-ins on demand and remembers the real tensors that were used, in order of first use."""

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self._fake_mode = fake_mode
        self._found: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [real for real, _ in self._found.values()]

    def stand_in(self, real: torch.Tensor) -> torch.Tensor:
        known = self._found.get(id(real))
        if known is not None:
            return known[1]
        fake = make_fake(self._fake_mode, real)
        self._found[id(real)] = (real, fake)
        if real.is_leaf and real.grad is not None:
            # A gradient that already exists is state: `backward` adds to it (mlsdk.md 6).
            fake.grad = self.stand_in(real.grad)
        return fake


class Substitution:
    """Second pass: discovered tensors are arguments of the trace, any other real one is a constant made on the way."""

    def __init__(self, reals: list[torch.Tensor], stand_ins: list[torch.Tensor]) -> None:
        self._table = {id(real): stand_in for real, stand_in in zip(reals, stand_ins, strict=True)}
        for real in reals:
            if real.is_leaf and real.grad is not None:
                self._table[id(real)].grad = self._table[id(real.grad)]

    def stand_in(self, real: torch.Tensor) -> torch.Tensor:
        return self._table.get(id(real), real)


def make_fake(fake_mode: FakeTensorMode, real: torch.Tensor) -> FakeTensor:
    """A leaf without data that has shape, dtype and `requires_grad` of `real`; all sizes static."""
    return fake_mode.from_tensor(real, static_shapes=True)
