"""Tables between tensor indices and level positions, both ways.

Every level position is a sum over axes and every index a sum over levels (R2), so both directions are outer sums of
short one-dimensional tables: one per (level, axis) forwards, one per level backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from compiler.layout.layout import Layout
from compiler.layout.levels import PLACE_LEVELS, IntArray, Level, Places
from compiler.layout.terms import Axis

#: Entry of a backward table for a position that holds no element.  Any sum with it is negative: at most seven
#: tables are added, and true sums stay below 2**40.
HOLE = -(1 << 40)


def axis_positions(axis: Axis, level: Level) -> IntArray:
    """Position in `level` that each index of `axis` (padding included) adds; int64[axis.extent]."""
    positions = np.zeros(1, dtype=np.int64)
    for sub in axis:
        step = sub.stride if sub.level is level else 0
        positions = np.add.outer(positions, np.arange(sub.extent) * step).ravel()
    return positions


def weighted_positions(
    layout: Layout, weights: Mapping[Level, int], shape: Sequence[int], dtype: DTypeLike = np.int64
) -> NDArray[Any]:
    """Sum of position x weight over some levels, for every element of `shape` (at most the padded shape)."""
    total = np.zeros(tuple(shape), dtype=dtype)
    for number, (axis, extent) in enumerate(zip(layout.axes, shape, strict=True)):
        levels = {sub.level for sub in axis if sub.level in weights}
        if levels:
            column = sum(weights[level] * axis_positions(axis, level)[:extent] for level in levels)
            total += np.asarray(column, dtype=dtype).reshape((-1,) + (1,) * (layout.rank - number - 1))
    return total


def places(layout: Layout, shape: Sequence[int]) -> Places:
    """Place (first copy) of every element of `shape`."""
    return Places(*(weighted_positions(layout, {level: 1}, shape) for level in PLACE_LEVELS))


def level_size(layout: Layout, level: Level, words_per_lw: int) -> int:
    """Number of positions of `level` in an image of the layout: members, words, num_lw or slices."""
    if level is Level.W:
        return words_per_lw
    if level is Level.ADDR:
        return layout.num_lw
    return level.members or layout.num_slices


def level_table(layout: Layout, level: Level, strides: Sequence[int], size: int) -> IntArray:
    """For each position of `level`: the sum over axes of index x `strides[axis]` it stands for; HOLE when empty.

    Adding the tables of all levels gives the sum of index x stride of the element at a place; with the strides of a
    row-major array that is the element's flat index.  int64[size]
    """
    positions = np.zeros(1, dtype=np.int64)
    amounts = np.zeros(1, dtype=np.int64)
    digits = [(sub.extent, sub.stride, weight * strides[axis]) for axis, weight, sub in layout.digits(level)]
    if layout.is_broadcast(level):
        digits.append((size, 1, 0))
    else:
        copies = [entry for entry in layout.broadcast if entry.level is level]
        digits += [(entry.extent, entry.stride, 0) for entry in copies if entry.extent is not None]
    for extent, stride, amount in digits:
        steps = np.arange(extent)
        positions = np.add.outer(positions, steps * stride).ravel()
        amounts = np.add.outer(amounts, steps * amount).ravel()
    table = np.full(size, HOLE, dtype=np.int64)
    table[positions] = amounts
    return table


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours of each axis in a row-major array."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides)) if shape else ()
