"""Primitives of kernel bodies that Python lacks: bit casts, wide products, stack buffers.

Bodies and the functions they call are plain Python; `hw.kernels.compile` compiles them and gives the functions below
their machine meaning (`hw.kernels.lowering`).  Called from Python they raise, except where a plain meaning exists.
Inside bodies every integer is `uint64` or `int64`; mixing the two would make Numba fall back to float64, so constants
are written `U(...)` and `I(...)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

U = np.uint64
I = np.int64  # noqa: E741  (the signed partner of U)

U0, U1 = U(0), U(1)
WORD = U(0xFFFFFFFF)
HALFWORD = U(0xFFFF)
SIGN64 = U(1 << 63)


Function = TypeVar("Function", bound=Callable[..., Any])


def out_of_line(function: Function) -> Function:
    """Mark a large or rare helper of bodies that is compiled as a call instead of being inlined."""
    function.out_of_line = True  # type: ignore[attr-defined]
    return function


def primitive(lowering: str) -> Callable[[Function], Function]:
    """Mark a function whose machine meaning the module `lowering` declares."""

    def mark(function: Function) -> Function:
        function.lowering = lowering  # type: ignore[attr-defined]
        return function

    return mark


_here = primitive("hw.kernels.lowering")


def _only_compiled(name: str) -> RuntimeError:
    return RuntimeError(f"{name} exists in compiled kernel bodies only")


@_here
def double_of_bits(pattern: Any) -> Any:
    """uint64 -> float64 with the same bits."""
    raise _only_compiled("double_of_bits")


@_here
def bits_of_double(value: Any) -> Any:
    """float64 -> uint64 with the same bits."""
    raise _only_compiled("bits_of_double")


@_here
def multiply_high(a: Any, b: Any) -> Any:
    """Upper 64 bits of the 128-bit product of two uint64."""
    raise _only_compiled("multiply_high")


@_here
def leading_zeros(x: Any) -> Any:
    """Number of leading zero bits of a uint64 (64 for 0), as uint64."""
    raise _only_compiled("leading_zeros")


@_here
def stack_words(count: Any) -> Any:
    """Pointer to `count` (a literal) uninitialised uint64 on the stack of the body."""
    raise _only_compiled("stack_words")


@_here
def stack_halfwords(count: Any) -> Any:
    """Pointer to `count` (a literal) uninitialised int16 on the stack of the body."""
    raise _only_compiled("stack_halfwords")


@_here
def as_halfwords(pointer: Any) -> Any:
    """The memory behind a uint64 pointer as uint16, least significant half word of each long word first."""
    raise _only_compiled("as_halfwords")


@_here
def dot_halves(matrix: Any, vector: Any, sums: Any, row: Any) -> Any:
    """Integer sums of one matrix row with the vectors of four cycles, for all 16 MABs, as vector code.

    matrix: int16[16 rows][4 PEs][16 MABs][4 halves], vector: int16[4 cycles][4 PEs][16 MABs][4 halves]
    (`stack_halfwords`). Writes sums[row % 4][cycle][row // 4][MAB] (int64 bit patterns).  Factors must be below 2**9
    in magnitude.
    """
    raise _only_compiled("dot_halves")
