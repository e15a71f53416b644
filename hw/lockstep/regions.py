"""What L1BM items, L2BM items and MVs touch in L1BM, L2BM, PDM and DRAM (isa.md 6.2, 7, 8.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hw.engine.dar import indirect_blocks
from hw.lockstep.stores import Store
from hw.program import L1Map, L2Kind, L2Map, L2Move, Mv, MvForm, MvPlace, Space
from hw.state.board import Board
from hw.state.topology import Topology

I64 = NDArray[np.int64]
CYCLES, PES, MABS = 4, 4, 16
BLOCK = 16
DARS_LWS = 256  # isa.md 19.7: 512 entries, two in a long word
_SPACES = {Space.PDM: Store.PDM, Space.DRAM: Store.DRAM, Space.L2BM: Store.L2BM}
_BANKED = (MvForm.P_L, MvForm.L_P, MvForm.D_L, MvForm.PARALLEL)


@lru_cache(maxsize=1024)
def l1_offsets(layout: L1Map) -> I64:
    """L1BM offsets of an L1BM item: [lw][c][p][m]."""
    table = [
        layout.offset(c, w, m, p)
        for w in range(layout.lws)
        for c in range(CYCLES)
        for p in range(PES)
        for m in range(MABS)
    ]
    return np.array(table, np.int64).reshape(layout.lws, CYCLES, PES, MABS)


@lru_cache(maxsize=1024)
def l1_writers(layout: L1Map) -> tuple[int, ...]:
    """MABs that take part in a PE->L1BM item."""
    return tuple(m for m in range(MABS) if layout.writes(m))


@lru_cache(maxsize=1024)
def l2_offsets(layout: L2Map, l1bs: int) -> tuple[I64, I64]:
    """Offsets of an L2BM item: on the L2BM [b][c * width + k], on every L1BM [c * width + k]."""
    pairs = [(c, k) for c in range(CYCLES) for k in range(layout.width)]
    lc = [[layout.lc(b, c, k) for c, k in pairs] for b in range(l1bs)]
    return np.array(lc, np.int64), np.array([layout.lb(c, k) for c, k in pairs], np.int64)


@dataclass(frozen=True, slots=True)
class Region:
    """Long words `addresses` (sorted, not yet wrapped) of the instances `places` (groups, L2Bs or L1Bs) of a store."""

    store: Store
    write: bool
    places: tuple[int, ...]
    addresses: I64


def l2_regions(item: L2Move, size: Topology) -> list[Region]:
    """L2BM, L1BM and DAR regions of an L2BM item.  DAR of `l2bmdarw` depends on the board: see `dar_drain`."""
    every = tuple(range(size.l2bs))
    if item.kind is L2Kind.DARW:
        return []
    if item.kind is L2Kind.DARS:
        banks = every[item.bank :: size.l2b_per_group]
        return [
            Region(Store.L2BM, False, banks, np.arange(item.lc, item.lc + DARS_LWS)),
            Region(Store.DARBUF, True, tuple(range(size.groups)), np.arange(size.darbuf_words)),
        ]
    assert item.map is not None, "an L2BM transfer without a map"
    lc, lb = l2_offsets(item.map, size.l1b_per_l2b)
    if item.kind is L2Kind.INNER:
        sources = sorted({s for s, _ in item.inner})
        targets = sorted({t for _, t in item.inner})
        return [
            Region(Store.L1BM, False, _l1bs(sources, size), np.unique(item.lb + lb)),
            Region(Store.L1BM, True, _l1bs(targets, size), np.unique(item.lb2 + lb)),
        ]
    down = item.kind is L2Kind.DOWN
    members = list(item.members)
    return [
        Region(Store.L2BM, not down, every, np.unique(item.lc + lc[members])),
        Region(Store.L1BM, down, _l1bs(members, size), np.unique(item.lb + lb)),
    ]


def _l1bs(members: list[int], size: Topology) -> tuple[int, ...]:
    return tuple(q * size.l1b_per_l2b + b for q in range(size.l2bs) for b in members)


def mv_regions(mv: Mv, board: Board) -> list[Region]:
    """What an MV reads and writes, its DAR entries and the DRAM they name now included."""
    return [*_side(mv, mv.src, board, write=False), *_side(mv, mv.dst, board, write=True)]


def _side(mv: Mv, place: MvPlace, board: Board, *, write: bool) -> list[Region]:
    size = board.topology
    groups = tuple(range(size.groups)) if place.group is None else (place.group,)
    count = _count(mv, place, size)
    straight = np.arange(place.addr, place.addr + count)
    if place.space is Space.PDM:
        return [Region(Store.PDM, write, groups, straight)]
    if place.space is Space.DRAM:
        if not place.indirect:
            return [Region(Store.DRAM, write, groups, straight)]
        found = []
        uses = mv.nd or max(count // BLOCK, 1)
        entries = np.arange(place.addr, place.addr + -(-(count // BLOCK) // uses))
        for group in groups:
            blocks = np.unique(indirect_blocks(board, group, place.addr, count // BLOCK, mv.nd))
            found.append(Region(Store.DRAM, write, (group,), (blocks[:, None] * BLOCK + np.arange(BLOCK)).reshape(-1)))
        return [Region(Store.DAR, False, groups, entries), *found]
    bank = 0 if place.bank is None and mv.form in _BANKED else place.bank
    banks = range(size.l2b_per_group) if bank is None else (bank,)
    return [Region(Store.L2BM, write, tuple(size.l2b_per_group * g + b for g in groups for b in banks), straight)]


def _count(mv: Mv, place: MvPlace, size: Topology) -> int:
    """Long words at every instance of one side of an MV: sizes count as the form says (isa.md 6.2)."""
    if place.space is Space.PDM and mv.form in (MvForm.D_PDM_L, MvForm.D_L_PDM):
        return mv.size * size.l2bs
    if place.space is Space.DRAM:
        if mv.form in (MvForm.B_DRAM, MvForm.R_DRAM, MvForm.D_PDM_DRAM, MvForm.D_DRAM_PDM):
            return mv.size // size.groups
        if mv.form in (MvForm.B4, MvForm.R4):
            return mv.size // size.groups * size.l2b_per_group
    return mv.size


def dar_drain(board: Board, group: int) -> I64:
    """DAR entries that the next `l2bmdarw` writes in a group, before they wrap (isa.md 7.8)."""
    start = int(board.dar_entry[group]) + int(board.dar_position[group])
    return np.arange(start, start + 4)
