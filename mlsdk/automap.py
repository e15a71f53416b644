"""`compile_automap`: functions of any signature, their arguments and results containers of tensors (mlsdk.md 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from mlsdk.compiled import CompiledFunction
from mlsdk.errors import CompileError
from mlsdk.proxy import TensorProxy
from mlsdk.pytrees import Structure

ARGUMENTS = "args"
RESULT = "out"


def _is_tensor_like(leaf: object) -> bool:
    return isinstance(leaf, (torch.Tensor, TensorProxy))


class Automap:
    """A function seen as the mapping -> mapping that the compiler takes.

    Leaves of the arguments that are no tensors are part of the program: they must be the same at every call.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._function = function
        self._given = Structure(_joined(args, kwargs), "", _is_tensor_like)
        self._result: Structure | None = None
        self.sample: dict[str, Any] = self._given.flatten(_joined(args, kwargs), "arguments")

    def __call__(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """What is traced."""
        arguments = self._given.unflatten(inputs)
        result = self._function(*arguments[ARGUMENTS], **arguments["kwargs"])
        self._result = Structure(result, RESULT, _is_tensor_like)
        return self._result.flatten(result, "results")

    def bind(self, compiled: CompiledFunction) -> AutomapFunction:
        """The compiled function with the signature of the original."""
        if self._result is None:
            raise CompileError("the function was never traced, so the structure of its result is not known")
        return AutomapFunction(compiled, self._given, self._result)


class AutomapFunction:
    """Called like the original function; results have proxies in place of tensors."""

    def __init__(self, compiled: CompiledFunction, given: Structure, result: Structure) -> None:
        self._compiled = compiled
        self._given = given
        self._result = result

    @property
    def compiled(self) -> CompiledFunction:
        """The mapping -> mapping function behind it, with its report and specs."""
        return self._compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run once.

        Raises PytreeError for another structure than at compile time, and what CompiledFunction raises.
        """
        return self._result.unflatten(self._compiled(self._given.flatten(_joined(args, kwargs), "arguments")))


def _joined(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {ARGUMENTS: tuple(args), "kwargs": dict(kwargs)}
