"""Runs compiled kernels on NumPy tiles and compares them with their slow reference."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw.kernels.abi import LANES, TILE, Kernel, Kind

Words = NDArray[np.uint64]
_C_FUNCTION = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 7)
PAR_WORDS = 8
GARBAGE = 0xDEADBEEFCAFEF00D


@dataclass
class Tile:
    """Inputs of one kernel call, zero unless given; `par` is padded to eight entries."""

    s0: Words
    s1: Words = field(default_factory=lambda: np.zeros(TILE, np.uint64))
    s2: Words = field(default_factory=lambda: np.zeros(TILE, np.uint64))
    mat: Words = field(default_factory=lambda: np.zeros(1024, np.uint64))
    par: tuple[int, ...] = ()


@dataclass
class Outcome:
    """What a call left behind."""

    out: Words
    flags: NDArray[np.uint8]
    mat: Words
    par: NDArray[np.int64]


def run(kernel: Kernel, tile: Tile, out_words: int = TILE) -> Outcome:
    """Call the compiled body; the outputs start as garbage so that a missing write shows."""
    out = np.full(out_words, GARBAGE, np.uint64)
    flags = np.full(LANES, 0xA5, np.uint8)
    mat = tile.mat.copy()
    par = np.zeros(PAR_WORDS, np.int64)
    par[: len(tile.par)] = tile.par
    arrays: list[NDArray[Any]] = [np.ascontiguousarray(a) for a in (tile.s0, tile.s1, tile.s2)] + [out, flags, mat, par]
    _C_FUNCTION(kernel.address)(*[a.ctypes.data for a in arrays])
    return Outcome(out, flags, mat, par)


def _lanes(buffer: Words, c: int, m: int) -> list[tuple[int, int]]:
    """The four (LW0, LW1) of one MAB in one cycle."""
    pairs = buffer.reshape(2, 4, 4, 16)[:, c, :, m]
    return [(int(a), int(b)) for a, b in pairs.T]


def expected(kernel: Kernel, tile: Tile) -> Outcome:
    """The same call through `kernel.reference`, MAB by MAB and cycle by cycle; matrix moves get the cycle in `par`."""
    out = np.zeros(TILE, np.uint64)
    flags = np.zeros((4, 4, 16), np.uint8)
    mat = tile.mat.copy().reshape(16, 4, 16)
    for m in range(16):
        plane = [[int(x) for x in row] for row in mat[:, :, m]]
        for c in range(4):
            x, y, z = (_lanes(s, c, m) for s in (tile.s0, tile.s1, tile.s2))
            pairs, bits = kernel.reference(x, y, z, plane, (*tile.par, c))
            out.reshape(2, 4, 4, 16)[:, c, :, m] = np.array(pairs, np.uint64).T
            flags[c, :, m] = bits
        mat[:, :, m] = plane
    return Outcome(out, flags.reshape(LANES), mat.reshape(1024), np.zeros(PAR_WORDS, np.int64))


def check(kernel: Kernel, tile: Tile) -> None:
    """Assert that body and reference agree on one tile: values, flags, matrix plane."""
    fast, slow = run(kernel, tile), expected(kernel, tile)
    writes_matrix = kernel.name.startswith("mwrite")
    if not writes_matrix:
        for i in np.flatnonzero(fast.out != slow.out)[:1]:
            operands = [f"{int(s[i]):016X}" for s in (tile.s0, tile.s1, tile.s2)]
            raise AssertionError(f"{kernel.name} [{i}] {operands}: {fast.out[i]:016X}, expected {slow.out[i]:016X}")
    if kernel.has_flags:
        for i in np.flatnonzero(fast.flags != slow.flags)[:1]:
            operands = [f"{int(s[i]):016X}" for s in (tile.s0, tile.s1, tile.s2)]
            raise AssertionError(f"{kernel.name} flags [{i}] {operands}: {fast.flags[i]:04b}, not {slow.flags[i]:04b}")
    else:
        assert (fast.flags == 0xA5).all() or kernel.kind is not Kind.LANES, f"{kernel.name} wrote flags"
    assert (fast.mat == slow.mat).all(), f"{kernel.name}: matrix plane differs"


def check_reduce(kernel: Kernel, inputs: Words, *, narrow: bool = False) -> None:
    """Assert that a REDUCE body and its reference agree; inputs[n][count], or [n][2][count] when `narrow`."""
    n, count = inputs.shape[0], inputs.shape[-1]
    fast = run(kernel, Tile(inputs.reshape(-1), par=(n, count)), out_words=count).out
    for j in range(count):
        column: list[Any] = (
            [tuple(int(v) for v in row[:, j]) for row in inputs] if narrow else [int(row[j]) for row in inputs]
        )
        slow = kernel.reference(column, ())
        shown = [[f"{v:X}" for v in pair] for pair in column] if narrow else [f"{v:X}" for v in column]
        assert int(fast[j]) == slow, f"{kernel.name} {shown}: {int(fast[j]):016X}, expected {slow:016X}"
