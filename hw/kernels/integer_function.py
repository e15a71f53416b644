"""`integer_function`: a decorator for engine functions of int64s, compiled when they are first called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Any

from hw.kernels.load import address_of


class IntegerFunction:
    """A compiled function: all arguments and the result are int64.  Calls release the interpreter lock."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._body = function
        self._call: Callable[..., int] | None = None

    @property
    def address(self) -> int:
        """Machine address (compiles, or loads the cached code).

        The cache key also covers every source file in the function's own package, so helpers in neighbouring modules
        count.
        """
        body = self._body
        package = Path(body.__code__.co_filename).resolve().parent
        return address_of(f"{body.__module__}.{body.__qualname__}", body, package, body.__code__.co_argcount)

    def __call__(self, *arguments: int) -> int:
        if self._call is None:
            kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * self._body.__code__.co_argcount)
            self._call = kind(self.address)
        return self._call(*arguments)


def integer_function(function: Callable[..., Any]) -> IntegerFunction:
    """Compile `function` on its first call, through the same cache as the kernels."""
    return IntegerFunction(function)
