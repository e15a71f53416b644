"""The one signature that is compiled: a mapping of names to tensors in, and one out (mlsdk.md 3.2)."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import torch

from compiler.frontend.errors import InputError, MissingInputError, OutputError
from compiler.frontend.source import SourceLine, current_line
from compiler.options.spelling import nearest

StepFunction = Callable[[Any], Any]


def check_inputs(inputs: object) -> dict[str, torch.Tensor]:
    """The sample as a plain dict, in its own order; a tensor that stands for several inputs is several tensors.

    Raises InputError for anything but names -> dense tensors.
    """
    if not isinstance(inputs, Mapping):
        raise InputError(
            f"the sample must be a mapping of names to tensors, got {type(inputs).__name__}",
            hint='pass one dict, e.g. {"x": torch.zeros(125, 1, 32, 32)}',
        )
    for name, value in inputs.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"names of inputs are non-empty strings, got {name!r}")
        if not isinstance(value, torch.Tensor):
            raise InputError(
                f"input '{name}' must be a torch.Tensor, got {type(value).__name__}",
                hint="a Python value is fixed at compile time: close over it, or wrap it by torch.tensor(...)",
            )
        if value.layout != torch.strided or value.is_quantized:
            raise InputError(f"input '{name}' must be a dense tensor, got layout {value.layout}")
    seen: set[int] = set()
    sample: dict[str, torch.Tensor] = {}
    for name, value in inputs.items():
        # The tracer knows tensors by identity, and of a sample only shape and dtype matter.
        sample[name] = torch.empty_like(value) if id(value) in seen else value
        seen.add(id(value))
    return sample


class InputMapping(dict[str, Any]):
    """What the function receives.  It may be changed freely; reading a name that is not there says which ones are."""

    def __missing__(self, key: object) -> NoReturn:
        known = list(self)
        raise MissingInputError(
            f"the function read input {key!r}, which the sample does not have{nearest(str(key), known)}; "
            f"it has: {', '.join(map(repr, known)) or 'nothing'}",
            source=current_line(),
        )


def check_outputs(result: object, function: StepFunction) -> dict[str, torch.Tensor]:
    """The result as a plain dict.  Raises OutputError for anything but a non-empty mapping of names to tensors."""
    source = _definition(function)
    if not isinstance(result, Mapping):
        raise OutputError(
            f"the function must return a mapping of names to tensors, got {_kind(result)}",
            source=source,
            hint='return a dict, e.g. {"loss": loss}',
        )
    if not result:
        raise OutputError("the function returned an empty mapping; a compiled function needs an output", source=source)
    for name, value in result.items():
        if not isinstance(name, str) or not name:
            raise OutputError(f"names of outputs are non-empty strings, got {name!r}", source=source)
        if not isinstance(value, torch.Tensor):
            raise OutputError(
                f"output '{name}' must be a torch.Tensor, got {type(value).__name__}",
                source=source,
                hint="a Python number would be frozen at compile time; return the tensor it comes from",
            )
    return dict(result)


def _kind(value: object) -> str:
    return "a tensor" if isinstance(value, torch.Tensor) else type(value).__name__


def _definition(function: StepFunction) -> SourceLine | None:
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    name = getattr(function, "__name__", "function")
    text = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    return SourceLine(code.co_filename, code.co_firstlineno, name, text or f"function {name}")
