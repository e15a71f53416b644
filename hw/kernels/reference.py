"""Turns element functions of `hw.formats` into the `reference` of a Kernel (see `hw.kernels.abi`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hw.formats import words

LongPair = tuple[int, int]
Lanes = Sequence[LongPair]
Matrix = list[list[int]]
Result = tuple[list[LongPair], list[int]]
Reference = Callable[[Lanes, Lanes, Lanes, Matrix, tuple[int, ...]], Result]

NO_FLAGS = [0, 0, 0, 0]


def elementwise(function: Callable[[int, int], tuple[int, int]], bits: int) -> Reference:
    """ALU form: elements of LW0, LW1 taken from the first source (isa.md 11.1); function(x, y) -> (result, flag)."""

    def reference(x: Lanes, y: Lanes, z: Lanes, mat: Matrix, par: tuple[int, ...]) -> Result:
        out, flags = [], []
        for (x0, x1), (y0, _) in zip(x, y, strict=True):
            pairs = [function(a, b) for a, b in zip(words.split(x0, bits), words.split(y0, bits), strict=True)]
            out.append((words.join([result for result, _ in pairs], bits), x1))
            flags.append(words.spread_flags([flag for _, flag in pairs], bits))
        return out, flags

    return reference


def per_pe(function: Callable[[LongPair], LongPair]) -> Reference:
    """A flagless operation of one source that treats every PE alike."""

    def reference(x: Lanes, y: Lanes, z: Lanes, mat: Matrix, par: tuple[int, ...]) -> Result:
        return [function(pair) for pair in x], list(NO_FLAGS)

    return reference
