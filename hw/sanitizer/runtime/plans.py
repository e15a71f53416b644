"""What the states that an item leaves depend on: pieces it reads, pieces it writes, and the *shape* of the item.

Two items of the same shape that find the same states in their pieces, one by one, leave the same states in the pieces
they write, wherever these lie.  So a shape has all of an item but its addresses, line and text: how addresses of the
four cycles coincide, and which words of a long word they mean, belongs to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hw.lockstep.matrix_cells import ROWS, written_rows
from hw.lockstep.operands import LATCH, MEMORY, words_of
from hw.lockstep.regions import l1_offsets, l2_offsets
from hw.lockstep.stores import Store
from hw.lockstep.touch import TURN_LWS
from hw.program import (
    Compute,
    Dest,
    Item,
    L1Map,
    L2Kind,
    L2Map,
    L2Move,
    Mem,
    PeLoad,
    PeStore,
    Source,
    Step,
    Unit,
)
from hw.sanitizer.runtime.contents import BLOCK, FIRST
from hw.sanitizer.runtime.registers import Registers
from hw.state.board import Board
from hw.state.topology import Topology

_LATCH_OF = {Unit.ALU: Store.ALUF, Unit.MAU: Store.MAUF, Unit.MREAD: Store.MREADF}
_PLANES = (Store.MATRIX_X, Store.MATRIX_Y)
_MEMORY = {mem: FIRST[store] for mem, store in MEMORY.items()}
_LATCH = {mem: FIRST[store] for mem, store in LATCH.items()}


@dataclass(frozen=True, slots=True)
class Plan:
    """Pieces (see `contents`) of one item; those written are different ones, and their old states count as well."""

    shape: tuple[Any, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]


class Planner:
    """Makes plans for items on one board.  stale_t, latch_used: as for `Uninitialised.step`."""

    def __init__(self, board: Board, registers: Registers) -> None:
        self._size: Topology = board.topology
        self._words = {mem: words_of(board, mem) for mem in MEMORY}
        self._registers = registers

    def plans(self, step: Step, *, stale_t: bool, latch_used: bool) -> list[Plan] | None:
        """A plan for each item; None where addresses depend on registers, for DAR items, and if two items write the
        same piece."""
        found: list[Plan] = []
        pieces: set[int] = set()
        count = 0
        for item in step.items:
            plan = self._plan(item, stale_t, latch_used, step.hold)
            if plan is None:
                return None
            found.append(plan)
            pieces.update(plan.writes)
            count += len(plan.writes)
        return found if count == len(pieces) else None

    def _plan(self, item: Item, stale_t: bool, latch_used: bool, hold: bool) -> Plan | None:
        shape: list[Any] = [latch_used, hold]
        reads: list[int] = []
        writes: dict[int, int] = {}  # piece: its number among those written
        if isinstance(item, L2Move):
            possible = self._l2(item, shape, reads, writes)
        elif isinstance(item, PeStore):
            possible = self._source(item.source, shape, reads, stale_t)
            possible = possible and self._banks(item.map, item.addr, shape, writes)
            shape += (item.first and item.first.name, item.last and item.last.name)
            if not hold:
                self._banks(item.turn_map or item.map, None, shape, writes)
        else:
            possible = self._pe(item, shape, reads, writes, stale_t)
            latch = Store.LBF if isinstance(item, PeLoad) else _LATCH_OF.get(item.unit)
            if latch is not None and not hold:
                for lw in range(2):
                    writes[FIRST[latch] + lw] = len(writes)
        return Plan(tuple(shape), tuple(reads), tuple(writes)) if possible else None

    def _pe(
        self, item: Compute | PeLoad, shape: list[Any], reads: list[int], writes: dict[int, int], stale_t: bool
    ) -> bool:
        """Items with destinations."""
        shape += (item.unit, self._registers.mask(item.flush))
        if isinstance(item, PeLoad):
            pieces: dict[int, int] = {}
            if not self._banks(item.map, item.addr, shape, pieces):
                return False
            reads += pieces
        else:
            shape.append(item.kernel.name)
            for source in item.sources:
                if not self._source(source, shape, reads, stale_t):
                    return False
            if item.plane is not None:
                first = FIRST[_PLANES[item.plane]]
                shape.append(item.params)
                if item.unit is Unit.MWRITE:
                    for rows in written_rows(item.kernel, item.params):
                        writes.update((first + row, 0) for row, _ in rows)
                else:
                    reads += range(first, first + ROWS)
        return all(self._dest(dest, shape, writes) for dest in item.dests)

    # --- PE operands --------------------------------------------------------------------------------------------

    def _rows(self, place: Source | Dest, shape: list[Any]) -> list[int]:
        """Pieces of an operand in LM or GRF, by long word and cycle."""
        first, size, width = _MEMORY[place.mem], self._words[place.mem], place.width
        if width == 1:
            shape.append(tuple([a & 1 for a in place.addr]))
        rows = [first + ((a % size & -width) >> 1) for a in place.addr]
        return [*rows, *[row + 1 for row in rows]] if width == 4 else rows

    def _source(self, source: Source, shape: list[Any], reads: list[int], stale_t: bool) -> bool:
        shape += (source.mem, source.width, tuple([kernel.name for kernel in source.transforms]))
        if source.mem in _MEMORY:
            if not self._registers.fixed(source):
                return False
            reads += self._rows(source, shape)
        elif source.mem is Mem.T:
            first = FIRST[Store.T_BEFORE if stale_t else Store.T]
            reads += (first, first + 1)
        elif source.mem in _LATCH:
            first = _LATCH[source.mem]
            reads += (first, first + 1)
        return True

    def _dest(self, dest: Dest, shape: list[Any], writes: dict[int, int]) -> bool:
        shape += (dest.mem, dest.width, self._registers.mask(dest.mask))
        if dest.mem in _MEMORY:
            if not self._registers.fixed(dest):
                return False
            shape.append(tuple([writes.setdefault(piece, len(writes)) for piece in self._rows(dest, shape)]))
        elif dest.mem is Mem.T:
            for lw in range(2):
                writes.setdefault(FIRST[Store.T] + lw, len(writes))
        return True

    # --- L1BM and L2BM ------------------------------------------------------------------------------------------

    def _banks(self, layout: L1Map, addr: int | None, shape: list[Any], pieces: dict[int, int]) -> bool:
        """Blocks of the L1BM, or (None) of the turnaround register, that an L1BM item touches."""
        store, size = (Store.TURN, TURN_LWS) if addr is None else (Store.L1BM, self._size.l1bm)
        start = addr or 0
        shape += (layout, addr is None, start % BLOCK)
        return _add(store, size, start, _l1_blocks(layout, start % BLOCK), shape, pieces)

    def _l2(self, item: L2Move, shape: list[Any], reads: list[int], writes: dict[int, int]) -> bool:
        if item.map is None or item.kind in (L2Kind.DARS, L2Kind.DARW):
            return False
        size = self._size
        shape += (item.kind, item.map, item.members, item.inner, item.kernel and item.kernel.name)
        shape += (item.lc % BLOCK, item.lb % BLOCK, item.lb2 % BLOCK)
        above, below = _l2_blocks(item.map, size.l1b_per_l2b, item.members, item.lc % BLOCK, item.lb % BLOCK)
        read: dict[int, int] = {}
        if item.kind is L2Kind.INNER:
            _, target = _l2_blocks(item.map, size.l1b_per_l2b, item.members, 0, item.lb2 % BLOCK)
            possible = _add(Store.L1BM, size.l1bm, item.lb, below, shape, read)
            possible = possible and _add(Store.L1BM, size.l1bm, item.lb2, target, shape, writes)
        elif item.kind is L2Kind.DOWN:
            possible = _add(Store.L2BM, size.l2bm, item.lc, above, shape, read)
            possible = possible and _add(Store.L1BM, size.l1bm, item.lb, below, shape, writes)
        else:
            possible = _add(Store.L1BM, size.l1bm, item.lb, below, shape, read)
            possible = possible and _add(Store.L2BM, size.l2bm, item.lc, above, shape, writes)
        reads += read
        return possible


def _add(
    store: Store, size: int, start: int, blocks: tuple[int, ...], shape: list[Any], pieces: dict[int, int]
) -> bool:
    """Add blocks that lie `blocks` behind the one of `start`; False if the memory does not consist of blocks."""
    first, count, base = FIRST[store], size // BLOCK, start // BLOCK
    before = len(pieces)
    for block in blocks:
        pieces.setdefault(first + (base + block) % count, len(pieces))
    return size % BLOCK == 0 and len(pieces) == before + len(blocks)


@lru_cache(maxsize=4096)
def _l1_blocks(layout: L1Map, start: int) -> tuple[int, ...]:
    """Blocks that an item at `start` < 16 touches."""
    return tuple(np.unique((start + l1_offsets(layout)) // BLOCK).tolist())


@lru_cache(maxsize=4096)
def _l2_blocks(
    layout: L2Map, l1bs: int, members: tuple[int, ...], lc: int, lb: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Blocks of L2BM and L1BM that an item at `lc` and `lb` < 16 touches."""
    above, below = l2_offsets(layout, l1bs)
    return (
        tuple(np.unique((lc + above[list(members)]) // BLOCK).tolist()),
        tuple(np.unique((lb + below) // BLOCK).tolist()),
    )
