"""`touched`: every cell that a line reads and writes on the board as it stands."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hw.lockstep.cells import ALL_BITS, Cells
from hw.lockstep.matrix_cells import ROWS, read_cells, written_rows
from hw.lockstep.operands import (
    BASE,
    bar_cells,
    dest_cells,
    latch_cells,
    mask_cells,
    source_cells,
)
from hw.lockstep.regions import Region, dar_drain, l1_offsets, l1_writers, l2_regions, mv_regions
from hw.lockstep.stores import Store, array_of
from hw.program import Compute, Dest, Item, L2Kind, L2Move, Line, MaskRef, Mem, Mv, PeLoad, PeStore, Source, Step, Unit
from hw.state.board import Board

_FULL = np.full((1, 1), ALL_BITS, np.uint8)
_LATCH_OF = {Unit.ALU: Store.ALUF, Unit.MAU: Store.MAUF, Unit.MREAD: Store.MREADF}
_PLANES = (Store.MATRIX_X, Store.MATRIX_Y)
TURN_LWS = 256


def touched(line: Line, board: Board, *, stale_t: bool = False) -> list[Cells]:
    """Reads first, then writes; empty for debug lines, `nop` and `mvnop`.

    stale_t: the step before wrote T, so this one reads its old content (isa.md 3.5).  Masks, base addresses, T indices
    and DAR entries count with their present values, so ask before the line runs.
    """
    if isinstance(line, Mv):
        return _ordered(_region_cells(mv_regions(line, board), board, line.text))
    if not isinstance(line, Step):
        return []
    found: list[Cells] = []
    for item in line.items:
        found += _item(item, board, stale_t, line.hold)
    return _ordered(found)


def _ordered(cells: list[Cells]) -> list[Cells]:
    return sorted(cells, key=lambda one: one.write)


def _item(item: Item, board: Board, stale_t: bool, hold: bool) -> list[Cells]:
    if isinstance(item, Compute):
        return _compute(item, board, stale_t, hold)
    if isinstance(item, PeLoad):
        return _load(item, board, stale_t, hold)
    if isinstance(item, PeStore):
        return _store(item, board, stale_t, hold)
    return _l2(item, board)


def _operands(
    sources: Iterable[Source],
    dests: Iterable[Dest],
    flush: MaskRef | None,
    board: Board,
    stale_t: bool,
    text: str,
) -> list[Cells]:
    """Sources, destinations, and what forming addresses and masks reads."""
    found: list[Cells] = []
    masks = {flush.entry} if flush is not None else set()
    for source in sources:
        found += source_cells(source, board, stale_t, text)
        found += _indices(source, board, stale_t, text)
    for dest in dests:
        found += dest_cells(dest, board, stale_t, text)
        found += _indices(dest, board, stale_t, text)
        if dest.mask is not None:
            masks.add(dest.mask.entry)
    found += [mask_cells(entry, board, write=False, text=text) for entry in sorted(masks) if 1 <= entry <= 15]
    return found


def _indices(place: Source | Dest, board: Board, stale_t: bool, text: str) -> list[Cells]:
    """What forming an address reads: T, and a base address register where it is not 0."""
    found: list[Cells] = []
    if place.via_t:
        found += source_cells(Source(Mem.T), board, stale_t, text)[:1]
    if place.mem in BASE and array_of(board, BASE[place.mem]).any():
        found.append(bar_cells(BASE[place.mem], board, write=False, text=text))
    return found


def _compute(item: Compute, board: Board, stale_t: bool, hold: bool) -> list[Cells]:
    found = _operands(item.sources, item.dests, item.flush, board, stale_t, item.text)
    if item.plane is not None:
        found.append(_matrix(item, board))
    if item.unit in _LATCH_OF and not hold:
        found += latch_cells(_LATCH_OF[item.unit], board, write=True, text=item.text)
    return found


def _matrix(item: Compute, board: Board) -> Cells:
    """The rows of a plane that a matrix write or read touches; products count as readers of all of them."""
    assert item.plane is not None
    write = item.unit is Unit.MWRITE
    if write:
        rows = sorted({row for cycle in written_rows(item.kernel, item.params) for row, _ in cycle})
    elif item.unit is Unit.MREAD:
        rows = np.flatnonzero(read_cells(item.kernel, item.params).any(axis=(0, 1, 2, 4))).tolist()
    else:
        rows = list(range(ROWS))
    every = np.arange(board.topology.l1bs)
    address = np.array(rows, np.int64).reshape(1, -1, 1, 1)
    bits = np.full((1, 1, 1, 1), ALL_BITS, np.uint8)
    return Cells(_PLANES[item.plane], write, (slice(None), rows), every, address, bits, text=item.text)


def _load(item: PeLoad, board: Board, stale_t: bool, hold: bool) -> list[Cells]:
    offsets = np.unique(l1_offsets(item.map))
    found = [_bank_cells(item.addr, offsets, board, False, item.text)]
    found += _operands((), item.dests, item.flush, board, stale_t, item.text)
    if not hold:
        found += latch_cells(Store.LBF, board, write=True, text=item.text)
    return found


def _store(item: PeStore, board: Board, stale_t: bool, hold: bool) -> list[Cells]:
    found = _operands((item.source,), (), None, board, stale_t, item.text)
    writers = list(l1_writers(item.map))
    if item.addr is not None:
        offsets = np.unique(l1_offsets(item.map)[..., writers])
        found.append(_bank_cells(item.addr, offsets, board, True, item.text))
    if not hold:
        offsets = np.unique(l1_offsets(item.turn_map or item.map)[..., writers])
        found.append(_bank_cells(None, offsets, board, True, item.text))
    return found


def _bank_cells(start: int | None, offsets: np.ndarray, board: Board, write: bool, text: str) -> Cells:
    """L1BM long words from `start` on, or (None) of the turnaround register, of every L1B."""
    store, size = (Store.TURN, TURN_LWS) if start is None else (Store.L1BM, board.topology.l1bm)
    address = ((start or 0) + offsets) % size
    return Cells(store, write, (slice(None), address), np.arange(board.topology.l1bs), address[None], _FULL, text=text)


def _l2(item: L2Move, board: Board) -> list[Cells]:
    if item.kind is L2Kind.DARW:
        found = []
        for n in range(board.topology.groups):
            entries = dar_drain(board, n) % board.topology.dar
            index = (np.array([[n]]), entries[None])
            found.append(Cells(Store.DAR, True, index, np.array([n]), entries[None], _FULL, text=item.text))
        return found
    return _region_cells(l2_regions(item, board.topology), board, item.text)


def size_of(store: Store, board: Board) -> int:
    """Long words (or entries) of one instance."""
    size = board.topology
    return {
        Store.L1BM: size.l1bm,
        Store.L2BM: size.l2bm,
        Store.PDM: size.pdm,
        Store.DRAM: size.dram,
        Store.DAR: size.dar,
        Store.DARBUF: size.darbuf_words,
    }[store]


def _region_cells(regions: list[Region], board: Board, text: str) -> list[Cells]:
    found = []
    for region in regions:
        address = region.addresses % size_of(region.store, board)
        places = np.array(region.places)
        if region.store is Store.DRAM:
            for group in region.places:
                bits, where = np.full(1, ALL_BITS, np.uint8), np.array([group])
                found.append(Cells(Store.DRAM, region.write, (address,), where, address, bits, 0, group, text))
            continue
        index = (places[:, None], address[None])
        found.append(Cells(region.store, region.write, index, places, address[None], _FULL, text=text))
    return found
