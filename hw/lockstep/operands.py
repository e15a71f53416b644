"""PE operands on a board: the address of every PE and cycle, what masks let through, the cells (isa.md 3.3-3.7, 4.1).

Arrays called *lanes* broadcast to [l1][4 cycles][4 PEs][16 MABs].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.cells import ALL_BITS, Cells
from hw.lockstep.stores import Store, array_of
from hw.program import Dest, MaskRef, Mem, Source
from hw.state.board import Board

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

MEMORY = {Mem.LM0: Store.LM0, Mem.LM1: Store.LM1, Mem.GRF0: Store.GRF0, Mem.GRF1: Store.GRF1}
LATCH = {Mem.ALUF: Store.ALUF, Mem.MAUF: Store.MAUF, Mem.LBF: Store.LBF, Mem.MREADF: Store.MREADF}
BASE = {Mem.LM0: Store.BAR0, Mem.LM1: Store.BAR1}
_BAR = {Mem.BAR0: Store.BAR0, Mem.BAR1: Store.BAR1}
_MASK_BITS = 16

_HIGH_WORD, _LOW_WORD = 0b1100, 0b0011
# By the four bits of a mask entry: half words of LW0 and LW1 under an `ll` mask.
_WORDS_0 = np.array([(b >> 3 & 1) * _HIGH_WORD | (b >> 2 & 1) * _LOW_WORD for b in range(_MASK_BITS)], np.uint8)
_WORDS_1 = np.array([(b >> 1 & 1) * _HIGH_WORD | (b & 1) * _LOW_WORD for b in range(_MASK_BITS)], np.uint8)
_ANY = np.array([0] + [ALL_BITS] * 15, np.uint8)


@dataclass(frozen=True, slots=True)
class Lanes:
    """Word addresses of an operand: `raw` before they wrap and are cut, `index` the T part of it (or None), `address`
    what is touched."""

    raw: I64
    address: I64
    size: int
    index: I64 | None = None


def words_of(board: Board, mem: Mem) -> int:
    """Size of a PE memory in 32-bit words."""
    return 2 * (board.topology.lm if mem in BASE else board.topology.grf)


def lanes(place: Source | Dest, board: Board, stale_t: bool) -> Lanes:
    """Addresses of an LM or GRF operand on the board as it stands; stale_t: T is read as the step before found it."""
    raw = np.array(place.addr, np.int64).reshape(1, 4, 1, 1)
    bar = array_of(board, BASE[place.mem]) if place.mem in BASE else None
    if bar is not None and bar.any():
        raw = raw + bar[:, None]
    index: I64 | None = None
    if place.via_t:
        t = array_of(board, Store.T_BEFORE if stale_t else Store.T)[:, 0]
        index = (t & np.uint64(0xFFFFFFFF)).astype(np.int64)
        raw = raw + index
    if place.j is not None:
        raw = raw + place.width * (np.arange(4) <= place.j).reshape(1, 1, 4, 1)
    size = words_of(board, place.mem)
    return Lanes(raw, raw % size & ~(place.width - 1), size, index)


def mask_bits(mask: MaskRef | None, board: Board) -> U8:
    """The four bits of a mask entry, lanes of uint8; all ones without a mask."""
    if mask is None:
        return np.full((1, 1, 1, 1), ALL_BITS, np.uint8)
    return board.masks[:, mask.entry]


def written_bits(mask: MaskRef | None, board: Board, lw: int, *, whole_t: bool = False) -> U8:
    """Half words of long word `lw` of a 2LW that a mask lets through, lanes.

    A default mask covers LW0 only; of T it also holds LW1 back where no bit is set (isa.md 19.2).
    """
    bits = mask_bits(mask, board)
    if mask is not None and mask.words:
        return (_WORDS_1 if lw else _WORDS_0)[bits]
    if lw == 0:
        return bits
    return _ANY[bits] if whole_t else np.full((1, 1, 1, 1), ALL_BITS, np.uint8)


def _all_l1bs(board: Board) -> I64:
    return np.arange(board.topology.l1bs)


def _memory_cells(place: Source | Dest, board: Board, stale_t: bool, write: bool, text: str) -> list[Cells]:
    found = lanes(place, board, stale_t)
    mask = place.mask if isinstance(place, Dest) else None
    cells = []
    for lw in range(2 if place.width == 4 else 1):
        rows = (found.address >> 1) + lw
        bits = written_bits(mask, board, lw)
        if place.width == 1:
            odd = (found.address & 1).astype(bool)
            bits = np.where(odd, bits >> 2, bits & _HIGH_WORD).astype(np.uint8)
        cells.append(
            Cells(MEMORY[place.mem], write, _row_index(rows, board), _all_l1bs(board), rows, bits, lw, text=text)
        )
    return cells


def _row_index(rows: I64, board: Board) -> tuple[object, ...]:
    """Index of [l1][row][p][m] that gives lanes."""
    if rows.size == 4:
        return slice(None), rows.reshape(4)
    every = np.arange(board.topology.l1bs).reshape(-1, 1, 1, 1)
    return every, rows, np.arange(4).reshape(1, 1, 4, 1), np.arange(16).reshape(1, 1, 1, 16)


_CYCLES = np.arange(4).reshape(1, 4, 1, 1)


def _tile_cells(store: Store, board: Board, write: bool, bits: list[U8], text: str) -> list[Cells]:
    """T or a latch: both long words of all lanes."""
    return [
        Cells(store, write, (slice(None), lw), _all_l1bs(board), _CYCLES, bits[lw], lw, text=text) for lw in range(2)
    ]


def latch_cells(store: Store, board: Board, *, write: bool, text: str = "") -> list[Cells]:
    """A forwarding latch, whole."""
    return _tile_cells(store, board, write, [mask_bits(None, board)] * 2, text)


def mask_cells(entry: int, board: Board, *, write: bool, text: str = "") -> Cells:
    """An entry of the mask registers, all PEs and cycles."""
    return Cells(
        Store.MASK,
        write,
        (slice(None), entry),
        _all_l1bs(board),
        np.full((1, 1, 1, 1), entry),
        mask_bits(None, board),
        text=text,
    )


def bar_cells(store: Store, board: Board, *, write: bool, bits: U8 | None = None, text: str = "") -> Cells:
    """A base address register, as lanes with one cycle."""
    bits = mask_bits(None, board) if bits is None else bits
    return Cells(store, write, (slice(None), None), _all_l1bs(board), np.zeros((1, 1, 1, 1), np.int64), bits, text=text)


def source_cells(source: Source, board: Board, stale_t: bool, text: str = "") -> list[Cells]:
    """The cells a source reads, long word 0 first; empty for constants."""
    if source.mem in MEMORY:
        return _memory_cells(source, board, stale_t, write=False, text=text)
    if source.mem is Mem.T:
        store = Store.T_BEFORE if stale_t else Store.T
        return _tile_cells(store, board, False, [mask_bits(None, board)] * 2, text)
    if source.mem in LATCH:
        return latch_cells(LATCH[source.mem], board, write=False, text=text)
    return []


def dest_cells(dest: Dest, board: Board, stale_t: bool, text: str = "") -> list[Cells]:
    """The cells a destination writes, `bits` after its mask; empty for `$nowrite`."""
    if dest.mem in MEMORY:
        return _memory_cells(dest, board, stale_t, write=True, text=text)
    if dest.mem is Mem.T:
        bits = [written_bits(dest.mask, board, lw, whole_t=True) for lw in range(2)]
        return _tile_cells(Store.T, board, True, bits, text)
    if dest.mem is Mem.OMR:
        # flags AND mask are stored, so all of the entry changes (isa.md 19.1)
        return [mask_cells(dest.addr[0], board, write=True, text=text)]
    if dest.mem in _BAR:
        low = 1 << (2 if dest.width == 1 else 0)  # the half word that holds the twelve bits
        bits = _ANY[written_bits(dest.mask, board, 0) & low].max(axis=1, keepdims=True)
        return [bar_cells(_BAR[dest.mem], board, write=True, bits=bits, text=text)]
    return []
