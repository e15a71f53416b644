"""Which rows of 64 PEs an operand is, when that is known before the program runs; which results may go straight there.

A `Rows` is eight places (buffer, byte offset), entry ``lw * 4 + cycle``, in the order of the row tables of
`hw.kernels.fast_ir`.  An operand has fixed rows when neither T, nor `j`, nor a base address register moves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from hw.engine import layout as L
from hw.kernels.fast_ir import RowKernel
from hw.program import Compute, Dest, Item, L2Move, Mem, PeStore, Source, Step
from hw.state.topology import Topology

ROWS: Final = {Mem.LM0: L.LM0, Mem.LM1: L.LM1, Mem.GRF0: L.GRF0, Mem.GRF1: L.GRF1}
BAR: Final = {Mem.LM0: 0, Mem.LM1: 1}
_ROW = 512  # bytes

Place = tuple[int, int]
Rows = tuple[Place, ...]


def tile_rows(buffer: int) -> Rows:
    """The rows of a tile."""
    return tuple((buffer, row * _ROW) for row in range(8))


@dataclass(frozen=True, slots=True)
class RowPlan:
    """What is known of a step before its items are lowered: rows its items read and write in place."""

    size: Topology
    bars_zero: bool
    reads: tuple[frozenset[Place], ...]  # per item
    writes: tuple[frozenset[Place], ...]
    moving: frozenset[int]  # buffers that some item writes at addresses not known

    @classmethod
    def of(cls, step: Step, size: Topology, bars_zero: bool) -> RowPlan:
        """Plan of a step.  `bars_zero`: both base address registers are 0 in all PEs."""
        reads: list[frozenset[Place]] = []
        writes: list[frozenset[Place]] = []
        moving: set[int] = set()
        for item in step.items:
            places: set[Place] = set()
            for source in _sources(item):
                places.update(fixed_rows(source, size, bars_zero) or ())
            reads.append(frozenset(places))
            places = set()
            for dest in _dests(item):
                rows = fixed_rows(dest, size, bars_zero)
                if rows is not None:
                    places.update(rows)
                elif dest.mem in ROWS:
                    moving.add(ROWS[dest.mem])
            writes.append(frozenset(places))
        return cls(size, bars_zero, tuple(reads), tuple(writes), frozenset(moving))

    def source(self, source: Source) -> Rows | None:
        """Fixed rows of a source of at least one long word without transforms."""
        return None if source.transforms else fixed_rows(source, self.size, self.bars_zero)

    def direct(
        self, number: int, dests: Sequence[Dest], sources: Sequence[Rows], fast: RowKernel | None
    ) -> Rows | None:
        """Rows that item `number` may write at once, without a latch: it has one unmasked destination with fixed rows
        which no other item touches and which its kernel may overlap with its own sources.

        LW1 of a 1-LW destination goes to `L.OUT_NONE`.
        """
        dests = [dest for dest in dests if dest.mem is not Mem.NOWRITE]
        if len(dests) != 1 or dests[0].mask is not None:
            return None
        rows = fixed_rows(dests[0], self.size, self.bars_zero)
        if rows is None or rows[0][0] in self.moving:
            return None
        taken = set(rows[: 2 * dests[0].width])  # what stands for an absent LW1 is no place
        others = [k for k in range(len(self.reads)) if k != number]
        if any(taken & self.reads[k] or taken & self.writes[k] for k in others):
            return None
        if fast is not None and not all(
            k in fast.free or _overlap_allowed(rows[: len(taken)], source, fast.long_words[k])
            for k, source in enumerate(sources)
        ):
            return None
        return rows if dests[0].width == 4 else rows[:4] + tile_rows(L.OUT_NONE)[4:]


def _overlap_allowed(out: Rows, source: Rows, long_words: int) -> bool:
    """No row of the result is read later than it is written: shared rows stand at one place only, the same in both."""
    read = source[: 4 * long_words]
    shared = set(out) & set(read)
    return all(
        [k for k, place in enumerate(out) if place == row] == [k for k, place in enumerate(read) if place == row]
        and read.count(row) == 1
        for row in shared
    )


def _sources(item: Item) -> Iterable[Source]:
    if isinstance(item, Compute):
        return item.sources
    return (item.source,) if isinstance(item, PeStore) else ()


def _dests(item: Item) -> Iterable[Dest]:
    return () if isinstance(item, PeStore | L2Move) else item.dests


def fixed_rows(place: Source | Dest, size: Topology, bars_zero: bool) -> Rows | None:
    """Rows of an operand of one or two long words in LM or GRF; LW1 of one long word is `L.ZERO`."""
    if place.mem not in ROWS or place.width not in (2, 4) or place.j is not None or place.via_t:
        return None
    if place.mem in BAR and not bars_zero:
        return None
    buffer, last = ROWS[place.mem], 2 * (size.lm if place.mem in BAR else size.grf) - 1
    first = [(a & last & -place.width) // 2 * _ROW for a in place.addr]
    rows = [(buffer, offset) for offset in first]
    if place.width == 2:
        return (*rows, *tile_rows(L.ZERO)[4:])
    return (*rows, *((buffer, offset + _ROW) for offset in first))
