"""A matrix seen as rows to be reduced: which addresses, words and PEs hold the elements of a row.

Serves layers that reduce the last axis inside a MAB.  The rows may lie over any levels; the last axis must lie in
addresses, words and PEs, alike in all MABs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.layout import Axis, Layout, Level, PadLayout, SubAxis


@dataclass(frozen=True)
class RowView:
    """rows: (long word, place among the rows of an L1B).  tiles: (long word, index of its first element) of a row.

    word_index: index step of each lane of a long word; pe_weight: of each PE.  result: layout of one element per row,
    the same in every word, PE and MAB.
    """

    rows: tuple[tuple[int, int], ...]
    tiles: tuple[tuple[int, int], ...]
    word_index: tuple[int, ...]
    pe_weight: int
    result: Layout


def row_view(layout: PadLayout, lanes: int) -> RowView | None:
    """The view of a matrix in a layout, or None when its last axis does not lie inside the MABs."""
    spec = layout.layout
    if spec.rank != 2 or not spec.is_broadcast(Level.MAB):
        return None
    if any(sub.level not in (Level.ADDR, Level.W, Level.PE) for sub in spec.axes[1]):
        return None
    if any(sub.level in (Level.W, Level.PE) for sub in spec.axes[0]):
        return None
    weights = list(spec.axes[1].weighted())
    pe = [(weight, sub) for weight, sub in weights if sub.level is Level.PE]
    if len(pe) > 1 or any(sub.extent != 4 or sub.stride != 1 for _, sub in pe):
        return None
    words = [0] * lanes
    for weight, sub in weights:
        if sub.level is Level.W:
            words = [old + w // sub.stride % sub.extent * weight for w, old in enumerate(words)]
    packed, stride = [], 1
    for sub in reversed(spec.axes[0].subaxes):
        if sub.level is Level.ADDR:
            packed.append(SubAxis(sub.extent, Level.ADDR, stride))
            stride *= sub.extent
        else:
            packed.append(sub)
    rows = _combinations(
        [
            (sub.extent, sub.stride, p.stride)
            for sub, p in zip(reversed(spec.axes[0].subaxes), packed, strict=True)
            if sub.level is Level.ADDR
        ]
    )
    tiles = _combinations([(sub.extent, sub.stride, weight) for weight, sub in weights if sub.level is Level.ADDR])
    axis = Axis(tuple(reversed(packed)))
    kept = [entry for entry in spec.broadcast if entry.level in (Level.L1B, Level.L2B)]
    copied = Layout.build([[*axis]]).broadcast
    whole = [entry for entry in copied if entry.level not in {k.level for k in kept}]
    return RowView(
        tuple(sorted(rows, key=lambda pair: pair[1])),
        tuple(sorted(tiles, key=lambda pair: pair[1])),
        tuple(words),
        pe[0][0] if pe else 0,
        Layout((axis,), (*whole, *kept)),
    )


def _combinations(digits: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """All (sum of digit x stride, sum of digit x weight) of digits (extent, stride, weight)."""
    found = []
    for values in itertools.product(*(range(extent) for extent, _, _ in digits)):
        found.append(
            (
                sum(v * stride for v, (_, stride, _) in zip(values, digits, strict=True)),
                sum(v * weight for v, (_, _, weight) in zip(values, digits, strict=True)),
            )
        )
    return found
