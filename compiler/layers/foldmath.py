"""NumPy model of a reduction: the order of the chip's additions and the rounding of each stage (numerics.md 3, 4).

Values are numbers (float32, float64) or integers (int32) on a grid over L2B, L1B, MAB, PE, result long word and lane; a
level that only holds copies has one member there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.layers import doublemath
from compiler.layers.halfmath import reduce_single, round_single
from compiler.layout import Level, PadLayout, Places
from compiler.layout.folding import Folding

Grid = NDArray[Any]

#: Axis of the grid for each level.
AXES = {Level.L2B: 0, Level.L1B: 1, Level.MAB: 2, Level.PE: 3, Level.W: 5}


@dataclass(frozen=True)
class FoldMath:
    """What the stages do.  load: one element; join: two; circuit: any number of them along axis 0, if there is one."""

    unit: float
    load: Callable[[Grid], Grid]
    join: Callable[[Grid, Grid], Grid]
    circuit: Callable[[Grid], Grid] | None


def normalised(values: Grid) -> Grid:
    """What an MAU pass makes of singles: no denormals, no negative zero, no NaN (exponent 255 is an infinity)."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    exponent = bits >> 23 & 255
    bits = np.where(exponent == 255, bits & np.uint32(0xFF800000), bits)
    return np.where(exponent == 0, np.uint32(0), bits).view(np.float32)


def add(x: Grid, y: Grid) -> Grid:
    """`fvadd` of normalised singles.

    The finite alignment of numerics.md 3.5 keeps more bits than one rounding of a sum can see, so this is the nearest
    single; opposite infinities give +inf (numerics.md 2.2).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = round_single(x.astype(np.float64) + y.astype(np.float64))
    return np.where(np.isnan(total), np.float32(np.inf), total)


def multiply(x: Grid, y: Grid) -> Grid:
    """`fvmul` of normalised singles: products of the low five bits of both mantissas are left out (numerics.md 3.2)."""
    a, b = (np.ascontiguousarray(v, np.float32).view(np.uint32).astype(np.int64) for v in np.broadcast_arrays(x, y))
    ma, mb = (a & 0x7FFFFF) | 1 << 23, (b & 0x7FFFFF) | 1 << 23
    low = (ma & 31) * (mb & 31)
    product = ma * mb - low + np.where(low != 0, 256, 0)
    sign = np.where((a ^ b) >> 31, -1.0, 1.0)
    exponent = (a >> 23 & 255) + (b >> 23 & 255) - 2 * (127 + 23)
    with np.errstate(over="ignore"):
        value = round_single(sign * product.astype(np.float64) * np.exp2(exponent.astype(np.float64)))
    infinite = (a >> 23 & 255 == 255) | (b >> 23 & 255 == 255)
    zero = (a >> 23 & 255 == 0) | (b >> 23 & 255 == 0)
    return np.where(zero, np.float32(0), np.where(infinite, (sign * np.inf).astype(np.float32), value))


def sum_circuit(parts: Grid) -> Grid:
    """One `ffadd` circuit along axis 0, rounded to single; one +inf wins over everything (numerics.md 2.2)."""
    finite = np.where(np.isinf(parts), np.float32(0), parts)
    with np.errstate(over="ignore"):
        total = round_single(reduce_single(finite))
    total = np.where((parts == -np.inf).any(axis=0), np.float32(-np.inf), total)
    return np.where((parts == np.inf).any(axis=0), np.float32(np.inf), total)


def _doubles(bits: NDArray[np.uint64]) -> Grid:
    return np.asarray(bits).view(np.float64)


def _bits(values: Grid) -> NDArray[np.uint64]:
    return np.ascontiguousarray(values).view(np.uint64)


def _normalised_doubles(values: Grid) -> Grid:
    return _doubles(doublemath.normalise(_bits(values)))


def _add_doubles(x: Grid, y: Grid) -> Grid:
    return _doubles(doublemath.add(_bits(x), _bits(y)))


def _double_circuit(parts: Grid) -> Grid:
    return _doubles(doublemath.circuit(_bits(parts)))


def _same(values: Grid) -> Grid:
    return values


def _wrapped_sum(parts: Grid) -> Grid:
    return parts.sum(axis=0, dtype=np.int32)


FLOAT_MATH = {
    "Sum": FoldMath(0, normalised, add, sum_circuit),
    "Max": FoldMath(-np.inf, normalised, np.maximum, lambda parts: parts.max(axis=0)),
    "Min": FoldMath(np.inf, normalised, np.minimum, lambda parts: parts.min(axis=0)),
    "Prod": FoldMath(1, normalised, multiply, None),
}
DOUBLE_MATH = {
    "Sum": FoldMath(0, _normalised_doubles, _add_doubles, _double_circuit),
    "Max": FoldMath(-np.inf, _normalised_doubles, np.maximum, lambda parts: parts.max(axis=0)),
    "Min": FoldMath(np.inf, _normalised_doubles, np.minimum, lambda parts: parts.min(axis=0)),
}
INT_MATH = {
    "Sum": FoldMath(0, _same, np.add, _wrapped_sum),
    "Max": FoldMath(-(2**31), _same, np.maximum, lambda parts: parts.max(axis=0)),
    "Min": FoldMath(2**31 - 1, _same, np.minimum, lambda parts: parts.min(axis=0)),
}


def grid_of(values: Grid, layout: PadLayout, folding: Folding, lanes: int, unit: float) -> Grid:
    """The operand as it lies on the chip: (L2B, L1B, MAB, PE, result long word, tile, lane); `unit` in the padding."""
    levels = (Level.L2B, Level.L1B, Level.MAB, Level.PE)
    sizes = [1 if layout.is_broadcast(level) else level.members or 1 for level in levels]
    tiles = np.array(folding.tiles)
    ranges = (*(np.arange(n) for n in sizes), tiles.ravel(), np.arange(lanes))
    l2b, l1b, mab, pe, addr, word = np.meshgrid(*ranges, indexing="ij")
    index = layout.elements_at(Places(l2b, l1b, mab, pe, addr, word, np.zeros_like(l2b)))
    padded = np.full(layout.padded_shape, unit, values.dtype)
    padded[tuple(slice(n) for n in layout.shape)] = values
    grid = np.where(index < 0, values.dtype.type(unit), padded.ravel()[index])
    return grid.reshape(*sizes, *tiles.shape, lanes)


def run_fold(math: FoldMath, folding: Folding, grid: Grid) -> Grid:
    """The reduced grid, without the tiles: every member of a joined level holds the result."""
    with np.errstate(over="ignore"):
        total = math.load(grid[..., 0, :])
        for tile in range(1, grid.shape[5]):
            total = math.join(total, math.load(grid[..., tile, :]))
        for level in (Level.PE, Level.W) if folding.few else (Level.W, Level.PE):
            total = _exchange(math, total, AXES[level], folding.bits[level])
        if folding.counted_once:
            counts = np.arange(8) & folding.counted_once == 0
            total = np.where(counts.reshape(8, 1, 1, 1, 1, 1), total, total.dtype.type(0)) if math.unit == 0 else total
        mabs = folding.bits[Level.MAB]
        if mabs in (3, 15):
            total = _circuit(math, total, 2, (3, 12) if mabs == 15 else (3,))
        else:
            total = _exchange(math, total, 2, mabs)
        if folding.bits[Level.L1B]:
            total = _circuit(math, total, 1, (folding.bits[Level.L1B],))
        if folding.l2b_move:
            total = _circuit(math, total, 0, {"mvr": (1, 6), "mvr2": (1,), "mvr4": (6,)}[folding.l2b_move])
    return total


def _exchange(math: FoldMath, grid: Grid, axis: int, bits: int) -> Grid:
    for bit in (8, 4, 2, 1):
        if bits & bit:
            grid = math.join(np.take(grid, np.arange(grid.shape[axis]) ^ bit, axis=axis), grid)
    return grid


def _circuit(math: FoldMath, grid: Grid, axis: int, stages: tuple[int, ...]) -> Grid:
    """Join members along `axis` that differ in the bits of each stage."""
    members = np.arange(grid.shape[axis])
    for bits in stages:
        partners = [flip for flip in range(bits + 1) if flip & ~bits == 0]
        assert math.circuit is not None  # layers lay products of elements out so that no circuit is needed
        grid = math.circuit(np.stack([np.take(grid, members ^ flip, axis=axis) for flip in partners]))
    return grid


def read_result(grid: Grid, layout: PadLayout) -> Grid:
    """The elements of the plain shape out of a reduced grid laid out by `layout`."""
    where = layout.index_arrays(padding=False)
    fields = (where.l2b, where.l1b, where.mab, where.pe, where.addr, where.word)
    picked = grid[tuple(np.minimum(field, size - 1) for field, size in zip(fields, grid.shape, strict=True))]
    return np.broadcast_to(picked, layout.shape)
