"""Layouts the planner falls back on where no layer has a wish."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph import MNValue
from compiler.layers.base import rows_axis, rows_per_l1b
from compiler.layout import Layout, Level, PadLayout

WORDS = {4: 4, 2: 2}


def default_layout(value: MNValue) -> PadLayout:
    """First axis over L2B, L1B, addresses and (for a vector) the words of a long word; other axes over addresses,
    words and PEs.

    The form of the int64 labels in the l3ir listing of seed 3.1: ((8_L2B:1, 8_L1B:1, 1:1, 2_W:1); B@[PE,MAB]).
    """
    words = WORDS.get(value.dtype.words_per_lw, 1)
    shape = value.shape
    if not shape:
        return PadLayout((), Layout.build([]))
    if len(shape) == 1:
        rows = rows_per_l1b(shape[0])
        if words == 1 or rows % words:
            return PadLayout(shape, rows_only(shape[0]))
        axis = [(8, Level.L2B, 1), (8, Level.L1B, 1), (rows // words, Level.ADDR, 1), (words, Level.W, 1)]
        return PadLayout(shape, Layout.build([axis]))
    rows_digits = rows_axis(shape[0])
    stride = rows_digits[-1][0]
    axes: list[list[tuple[int, Level, int]]] = []
    for number, extent in reversed(list(enumerate(shape[1:], start=1))):
        inner = [(words, Level.W, 1), (4, Level.PE, 1)] if number == len(shape) - 1 else []
        count = -(-extent // (4 * words)) if inner else extent
        axes.insert(0, [d for d in [(count, Level.ADDR, stride), *inner] if d[0] > 1])
        stride *= count
    return PadLayout(shape, Layout.build([rows_digits, *axes]))


def rows_only(rows: int) -> Layout:
    """One element per row, the same in every word, PE and MAB: results of row reductions."""
    return Layout.build([rows_axis(rows)])


def rows_layout(value: MNValue, axes: Sequence[int]) -> PadLayout:
    """A layout in which the elements along `axes` of one result lie inside a MAB.

    The longest other axis is laid over L2B, L1B and addresses, the last of `axes` over addresses, words and PEs, all
    others over addresses.
    """
    rank = len(value.shape)
    kept = [axis for axis in range(rank) if axis not in axes]
    rows = max(kept, key=lambda axis: value.shape[axis], default=None)
    inner = max(axes, default=None)
    words = WORDS.get(value.dtype.words_per_lw, 1)
    digits: list[list[tuple[int, Level, int]]] = [[] for _ in range(rank)]
    stride = 1
    if rows is not None:
        digits[rows] = rows_axis(value.shape[rows])
        stride = digits[rows][-1][0]
    for axis in reversed(range(rank)):
        if axis == rows:
            continue
        count = -(-value.shape[axis] // (4 * words)) if axis == inner else value.shape[axis]
        lanes = [(words, Level.W, 1), (4, Level.PE, 1)] if axis == inner else []
        digits[axis] = [d for d in [(count, Level.ADDR, stride), *lanes] if d[0] > 1]
        stride *= count
    return PadLayout(value.shape, Layout.build(digits))
