"""What each PE picks from the streams: positions of its units in LM0, split into a part per PE and a part per unit.

A unit is what one access moves: a long word, a word or a half word.  The position of unit u in PE x is
`pattern[u][x] + offset[u]`; units whose positions differ by a constant over all PEs share a pattern, which a PE reads
as a word address into its T register.  So the layout switches of everyday need one pattern.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from compiler.layout import Layout, Level, PadLayout
from compiler.layout.levels import IntArray
from compiler.switch.cells import EXCHANGED, FILL, Move, parts, wanted_elements
from compiler.switch.feeds import UNIT, Feed, Load

#: Patterns that a unit with empty cells is compared with.
TRIES = 64


@dataclass(frozen=True)
class Unit:
    """One access: target word address (relative, half word `half` of it for halves) <- pattern + offset words.

    blocks: the UNITs of slots in which some PE finds what it needs.  half: 0 the upper half word, 1 the lower, None for
    whole words.
    """

    target: int
    pattern: int
    offset: int
    blocks: tuple[int, ...]
    half: int | None = None


@dataclass(frozen=True)
class Pattern:
    """base: word position per PE, int64[l2b, l1b, mab, pe] (extent 1 where alike).  turn: half words to rotate by."""

    base: IntArray
    turn: IntArray

    @property
    def uniform(self) -> bool:
        """Whether all PEs are alike."""
        return self.base.size == 1 and self.turn.size == 1


@dataclass
class Selection:
    """A move in terms of streams and accesses.

    words: of a unit's access (2 or 1).  starts: first slot of each feed.  granules: load steps needed, per feed.
    outside: position (slots) behind all streams, which stands for the fill value.
    """

    words: int
    feeds: list[Feed]
    starts: list[int]
    granules: list[list[int]]
    patterns: list[Pattern]
    units: list[Unit]
    outside: int
    has_fill: bool
    fill_lw: int
    @property
    def slots(self) -> int:
        """Slots of all streams and of the fill value."""
        return self.outside + (UNIT if self.has_fill else 0)

    @property
    def varying(self) -> list[int]:
        """Patterns that differ between PEs and so need a table."""
        return [number for number, pattern in enumerate(self.patterns) if not pattern.uniform]

    def resident(self, unit: Unit, letters: Sequence[str]) -> int | None:
        """The feed whose source `unit` can be read from directly, because PEs need only their own long words.

        letters: the LM of each source; only LM0 ("m") can be read at an address that differs between PEs.
        """
        feed = bisect.bisect_right(self.starts, unit.blocks[0] * UNIT) - 1
        ends = [*self.starts[1:], self.outside]
        if unit.blocks[-1] * UNIT >= ends[feed] or self.feeds[feed].load is not Load.OWN:
            return None
        return feed if letters[feed] == "m" or self.patterns[unit.pattern].uniform else None

    def needs_chunks(self, letters: Sequence[str]) -> bool:
        """Whether some unit must be read from a chunk in LM0."""
        return any(self.resident(unit, letters) is None for unit in self.units)


def table_data(selection: Selection) -> NDArray[np.int32] | None:
    """The varying patterns as the chip reads them: int32[l2b, l1b, mab, pe, pattern, 2], words (16 turn, base).

    A level in which all of them are alike has extent 1; None when nothing varies.
    """
    varying = [selection.patterns[number] for number in selection.varying]
    if not varying:
        return None
    columns = [np.stack(np.broadcast_arrays(16 * p.turn, p.base), axis=-1) for p in varying]
    extents = np.broadcast_shapes(*(column.shape for column in columns))
    return np.stack([np.broadcast_to(column, extents) for column in columns], axis=-2).astype(np.int32)


def table_layout(shape: tuple[int, ...]) -> PadLayout:
    """The layout of `table_data`: one long word per pattern in every PE, copies where the data are alike."""
    levels = [[(extent, level, 1)] if extent > 1 else [] for extent, level in zip(shape[:4], EXCHANGED, strict=True)]
    patterns = [(shape[4], Level.ADDR, 1)] if shape[4] > 1 else []
    return PadLayout(shape, Layout.build([*levels, patterns, [(2, Level.W, 1)]]))


@lru_cache(maxsize=64)
def select(move: Move) -> Selection:
    """The selection of a move.  Raises LayoutConflict for layouts in time slices."""
    wanted = wanted_elements(move)
    served = parts(move, wanted)
    feeds = [Feed.of(source, part.exchange) for source, part in zip(move.sources, served, strict=True)]
    slot = np.full(wanted.size, -1, dtype=np.int64)
    lane = np.zeros(wanted.size, dtype=np.int64)
    starts: list[int] = []
    granules: list[list[int]] = []
    position = 0
    for feed, part in zip(feeds, served, strict=True):
        starts.append(position)
        found = feed.slot(part)
        granules.append(np.unique(found // feed.load.granule).tolist())
        slot[part.cells] = position + found
        lane[part.cells] = part.lane
        position += -(-feed.slots // UNIT) * UNIT
    filled = wanted.ravel() == FILL
    slot[filled] = position
    own_lane = np.broadcast_to(np.arange(move.lanes), wanted.shape).ravel()
    lane[filled] = own_lane[filled]
    shape = wanted.shape
    size = _unit_size(slot.reshape(shape), lane.reshape(shape))
    element = 0
    for _ in range(move.lanes):
        element = element << move.mntype.bits | move.fill
    result = Selection(
        words=2 if size == move.lanes else 1,
        feeds=feeds,
        starts=starts,
        granules=granules,
        patterns=[],
        units=[],
        outside=position,
        has_fill=bool(filled.any()),
        fill_lw=element,
    )
    _build_units(result, slot.reshape(shape), lane.reshape(shape), size, move.lanes)
    return result


def _unit_size(slot: IntArray, lane: IntArray) -> int:
    """Lanes that can move together: all, two (of four) or one."""
    lanes = lane.shape[-1]
    size = lanes
    while size > 1:
        s = slot.reshape(*slot.shape[:-1], lanes // size, size)
        offset = lane.reshape(s.shape) - np.arange(size)
        known = s >= 0
        base_slot, base_lane = s.max(axis=-1, keepdims=True), np.where(known, offset, -1).max(axis=-1, keepdims=True)
        aligned = (base_lane % size == 0) & (s == base_slot) & (offset == base_lane)
        if bool((aligned | ~known).all()):
            return size
        size //= 2
    return size


def _build_units(result: Selection, slot: IntArray, lane: IntArray, size: int, lanes: int) -> None:
    shape = slot.shape
    pes = int(np.prod(shape[:4]))
    grouped = slot.reshape(pes, shape[4], lanes // size, size)
    offsets = lane.reshape(grouped.shape) - np.arange(size)
    known = grouped >= 0
    unit_slot = grouped.max(axis=-1)
    unit_lane = np.where(known, offsets, -1).max(axis=-1)
    cares = unit_slot >= 0
    per_word = max(1, lanes // 2)
    words = 2 * unit_slot + unit_lane // per_word
    halves = size < per_word
    finder = _PatternFinder(result.patterns, shape[:4])
    for lw in range(shape[4]):
        for sub in range(lanes // size):
            care = cares[:, lw, sub]
            if not care.any():
                continue
            first_lane = sub * size
            target = 2 * lw + first_lane // per_word
            half = first_lane % per_word if halves else None
            position = words[:, lw, sub]
            turn = (unit_lane[:, lw, sub] % per_word) ^ half if half is not None else np.zeros(pes, dtype=np.int64)
            pattern, offset = finder.find(position, turn, care)
            blocks = tuple(np.unique(position[care] // (2 * UNIT)).tolist())
            result.units.append(Unit(target, pattern, offset, blocks, half))


class _PatternFinder:
    """Files positions under patterns."""

    def __init__(self, patterns: list[Pattern], extents: tuple[int, ...]) -> None:
        self._patterns, self._extents = patterns, extents
        self._raw: list[tuple[IntArray, IntArray]] = []
        self._exact: dict[bytes, int] = {}

    def find(self, position: IntArray, turn: IntArray, care: NDArray[np.bool_]) -> tuple[int, int]:
        """(pattern, offset) of a unit; cells where `care` is False may hold anything."""
        first = int(np.argmax(care))
        start = int(position[first])
        if care.all():
            key = (position - start).tobytes() + turn.astype(np.int8).tobytes()
            if key in self._exact:
                number = self._exact[key]
                return number, start - int(self._raw[number][0][first])
            number = self._add(position - start, turn)
            self._exact[key] = number
            return number, start
        for number in range(len(self._raw) - 1, max(-1, len(self._raw) - 1 - TRIES), -1):
            base, other = self._raw[number]
            offset = start - int(base[first])
            if np.array_equal(base[care] + offset, position[care]) and np.array_equal(other[care], turn[care]):
                return number, offset
        return self._add(np.where(care, position - start, 0), np.where(care, turn, turn[first])), start

    def _add(self, base: IntArray, turn: IntArray) -> int:
        self._raw.append((base, turn))
        self._patterns.append(Pattern(self._squeeze(base), self._squeeze(turn)))
        return len(self._raw) - 1

    def _squeeze(self, values: IntArray) -> IntArray:
        """The array over the four levels with extent 1 where all members are alike."""
        shaped = values.reshape(self._extents)
        for axis in range(4):
            lead = shaped.take([0], axis=axis)
            if np.array_equal(np.broadcast_to(lead, shaped.shape), shaped):
                shaped = lead
        return shaped
