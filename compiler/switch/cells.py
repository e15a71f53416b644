"""Which source element every cell of the target holds, and where a copy of it lies on the chip.

A cell is one element position (L2B, L1B, MAB, PE, long word, lane) of the target layout.  L2B, L1B and MAB have one
member here when the whole target is copied over them: all members see the same streams, so one answer serves them all.
(The PEs of a MAB may see theirs rotated.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.errors import LayoutConflict
from compiler.graph import MNType
from compiler.layout import Layout, Level, PadLayout
from compiler.layout.indexmap import level_size, level_table, places, row_major_strides
from compiler.layout.levels import IntArray

#: Levels between which elements are exchanged, outermost first.
EXCHANGED = (Level.L2B, Level.L1B, Level.MAB, Level.PE)
#: Levels that have one member here when the target is copied over them.
MERGED = EXCHANGED[:3]
#: Entry of a cell that holds no element, and of one that holds the fill value.
NOTHING, FILL = -1, -2


@dataclass(frozen=True)
class Move:
    """Target element e <- source element `index[e]`: flat over the plain shapes of all sources, one after the other.

    index: int64 bytes, -1 for the raw element `fill`; None: the identity (one source of the target's shape).
    """

    sources: tuple[PadLayout, ...]
    target: PadLayout
    mntype: MNType
    index: bytes | None = None
    fill: int = 0

    @property
    def lanes(self) -> int:
        """Elements in a long word."""
        return self.mntype.words_per_lw


def pack_index(index: NDArray[np.integer]) -> bytes:
    """An index array as `Move` keeps it."""
    return np.ascontiguousarray(index, dtype=np.int64).tobytes()


def target_elements(target: PadLayout, lanes: int) -> IntArray:
    """Flat element (plain shape) of each cell, NOTHING for holes and padding; int64[l2b, l1b, mab, pe, lw, lane]."""
    strides = row_major_strides(target.padded_shape)
    total = np.zeros((), dtype=np.int64)
    for level in (*EXCHANGED, Level.ADDR, Level.W):
        if level in MERGED and target.is_broadcast(level):
            table = np.zeros(1, dtype=np.int64)
        else:
            table = level_table(target.layout, level, strides, level_size(target.layout, level, lanes))
        total = np.add.outer(total, table)
    flat = np.full(total.shape, NOTHING, dtype=np.int64)
    inside = total >= 0
    if not target.shape:
        flat[inside] = 0
        return flat
    coordinates = np.unravel_index(total[inside], target.padded_shape)
    real = np.ones(coordinates[0].shape, dtype=bool)
    for coordinate, extent in zip(coordinates, target.shape, strict=True):
        real &= coordinate < extent
    plain = np.full(real.shape, NOTHING, dtype=np.int64)
    plain[real] = np.ravel_multi_index(tuple(c[real] for c in coordinates), target.shape)
    flat[inside] = plain
    return flat


def wanted_elements(move: Move) -> IntArray:
    """Flat source element of each cell, FILL or NOTHING; shape of `target_elements`."""
    for layout in (*move.sources, move.target):
        if layout.num_slices > 1:
            raise LayoutConflict(f"{layout} is cut into time slices; a layout switch moves one slice at a time")
    cells = target_elements(move.target, move.lanes)
    if move.index is None:
        return cells
    index = np.frombuffer(move.index, dtype=np.int64)
    held = cells >= 0
    found = index[cells[held]]
    wanted = cells.copy()
    wanted[held] = np.where(found < 0, FILL, found)
    return wanted


def copy_offsets(layout: Layout, level: Level, members: int) -> IntArray:
    """Positions of the copies of an element in a level, relative to the first one."""
    if layout.is_broadcast(level):
        return np.arange(members)
    offsets = np.zeros(1, dtype=np.int64)
    for entry in layout.broadcast:
        if entry.level is level and entry.extent is not None:
            offsets = np.add.outer(offsets, np.arange(entry.extent) * entry.stride).ravel()
    return offsets


@dataclass
class Part:
    """The cells that one source serves.

    cells: flat cell numbers.  first: place of the first copy of each one's element per exchanged level.  addr, lane:
    its long word and lane (the cell's own lane where the source has a copy there).  exchange: levels in which some cell
    finds no copy at its own member.  own_pe: PE of each cell.
    """

    cells: IntArray
    first: dict[Level, IntArray]
    addr: IntArray
    lane: IntArray
    exchange: frozenset[Level]
    own_pe: IntArray


def parts(move: Move, wanted: IntArray) -> list[Part]:
    """What each source must deliver where."""
    result: list[Part] = []
    start = 0
    for source in move.sources:
        size = int(np.prod(source.shape, dtype=np.int64))
        cells = np.flatnonzero((wanted >= start) & (wanted < start + size))
        elements = wanted.ravel()[cells] - start
        own = np.unravel_index(cells, wanted.shape)
        where = [field.ravel() for field in places(source.layout, source.shape)]
        first: dict[Level, IntArray] = {}
        exchange: set[Level] = set()
        for number, level in enumerate(EXCHANGED):
            members = level.members or 1
            first[level] = where[number][elements]
            offsets = copy_offsets(source.layout, level, members)
            if wanted.shape[number] == 1:
                met = offsets.size == members
            else:
                met = bool(np.isin(own[number] - first[level], offsets).all())
            if not met:
                exchange.add(level)
        lane = where[5][elements]
        offsets = copy_offsets(source.layout, Level.W, move.lanes)
        lane = np.where(np.isin(own[5] - lane, offsets), own[5], lane)
        result.append(Part(cells, first, where[4][elements], lane, frozenset(exchange), own[3]))
        start += size
    return result
