"""Printing memory: the lines of `d get` for every format it has, integers and registers in the same style."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.lockstep import Store
from hw.lockstep.stores import array_of
from hw.state.board import Board
from hw.state.memory import Memory
from isa.debugger.areas import STORES
from isa.debugger.errors import DebuggerError
from isa.debugger.places import DumpLocation, PlaceSet
from isa.dump.handler import PdmDump, dump_lines
from isa.dump.location import place_name
from isa.dump.rows import number_body, untyped
from isa.dump.statement import FORMATS, Get
from isa.errors import nearest

INTEGERS = {"l": 64, "i": 32, "s": 16}
DTYPES = (*FORMATS, *INTEGERS, *(f"u{letter}" for letter in INTEGERS))
_MEMORIES: dict[Store, Memory] = {
    **{store: memory for memory, store in STORES.items()},
    Store.MASK: Memory.MASK,
    Store.MATRIX_X: Memory.MATRIX_X,
    Store.MATRIX_Y: Memory.MATRIX_Y,
}
_LABELS = {
    Store.LM0: "LM0",
    Store.LM1: "LM1",
    Store.GRF0: "GREG0",
    Store.GRF1: "GREG1",
    Store.T: "TREG",
    Store.L1BM: "L1BM",
    Store.L2BM: "L2BM",
    Store.PDM: "PIU",
    Store.DRAM: "DRAM",
    Store.MATRIX_X: "MRx",
    Store.MATRIX_Y: "MRy",
    Store.MASK: "OMR",
    Store.ALUF: "ALUF",
    Store.MAUF: "MAUF",
    Store.LBF: "LBF",
    Store.MREADF: "MREADF",
    Store.TURN: "LBI",
    Store.BAR0: "MB",
    Store.BAR1: "NB",
    Store.DAR: "DAR",
}
_REGISTERS = (Store.BAR0, Store.BAR1, Store.DAR, Store.MASK)
_LW1_OF_L1BM = 4  # `$llb<a>`: L1BM[a] and L1BM[a + 4] (isa.md 14.1)


@dataclass(frozen=True, slots=True)
class Row:
    """One printed row: its instance, printed address, and long words (or one value of `bits` bits)."""

    place: tuple[int, ...]
    address: int
    values: tuple[int, ...]
    bits: int = 64


def read_rows(board: Board, where: PlaceSet, count: int) -> Iterator[Row]:
    """`count` rows of every instance, as raw numbers; rows past the end of a memory are left out."""
    for place in where.places():
        yield from _rows_of(board, where, place, count)


def _rows_of(board: Board, where: PlaceSet, place: tuple[int, ...], count: int) -> Iterator[Row]:
    store, size = where.store, board.topology
    at = where.address
    if store in (Store.PDM, Store.DRAM, Store.DAR):
        cells = array_of(board, store, place[0]) if store is Store.DRAM else array_of(board, store)[place[0]]
        bits = 32 if store is Store.DAR else 64
        for address in range(at, min(at + count, len(cells))):
            yield Row(place, address, (int(cells[address]),), bits)
        return
    q = place[0] * size.l2b_per_group + place[1]
    if store is Store.L2BM:
        for address in range(at, min(at + count, size.l2bm)):
            yield Row(place, address, (int(board.l2bm[q, address]),))
        return
    cells = array_of(board, store)[q * size.l1b_per_l2b + place[2]]
    if store in (Store.L1BM, Store.TURN):
        second = (_LW1_OF_L1BM,) if where.lws == 2 else ()
        for address in range(at, min(at + count, len(cells))):
            values = [int(cells[(address + more) % len(cells)]) for more in (0, *second)]
            yield Row(place, address, tuple(values))
        return
    if store in (Store.MATRIX_X, Store.MATRIX_Y):
        for row in range(at, min(at + count, len(cells))):
            yield Row(place, row, tuple(int(x) for x in cells[row, :, place[3]]))
        return
    m, p = place[3], place[4]
    if store in (Store.BAR0, Store.BAR1):
        yield Row(place, 0, (int(cells[p, m]),), 12)
    elif store is Store.MASK:
        for entry in range(at, min(at + count, len(cells))):
            for cycle in range(4):
                yield Row(place, entry, (int(cells[entry, cycle, p, m]),), 4)
    elif store.in_words:
        yield from _memory_rows(where, place, count, cells[:, p, m])
    else:  # T and the latches: rows are cycles
        for cycle in range(min(count, 4)):
            yield Row(place, cycle, tuple(int(cells[lw, cycle, p, m]) for lw in range(where.lws)))


def _memory_rows(where: PlaceSet, place: tuple[int, ...], count: int, lws: NDArray[np.uint64]) -> Iterator[Row]:
    step = 2 * where.lws or 1
    for at in range(where.address, min(where.address + step * count, 2 * len(lws)), step):
        lw = int(lws[at >> 1])
        if where.lws == 0:
            yield Row(place, at, (lw & 0xFFFFFFFF if at & 1 else lw >> 32,), 32)
        else:
            yield Row(place, at, tuple(int(x) for x in lws[at >> 1 : (at >> 1) + where.lws]))


def integers(value: int, bits: int, dtype: str) -> str:
    """``(1, -5) (0x00000001, 0xfffffffb)``: the elements of a long word or word, most significant first."""
    width = min(INTEGERS[dtype[-1]], bits)
    raw = [value >> shift & ((1 << width) - 1) for shift in range(bits - width, -1, -width)]
    signed = not dtype.startswith("u") and width > 12
    shown = [x - (1 << width) if signed and x >> (width - 1) else x for x in raw]
    digits = max(1, width // 4)
    return f"({', '.join(map(str, shown))}) ({', '.join(f'0x{x:0{digits}x}' for x in raw)})"


def check_dtype(dtype: str) -> None:
    """DebuggerError for an unknown format."""
    if dtype not in DTYPES:
        close = nearest(dtype, DTYPES)
        hint = f"; did you mean `{close}`?" if close else ""
        raise DebuggerError(f"no format `{dtype}`; expected none or one of {', '.join(filter(None, DTYPES))}{hint}")


def lines(board: Board, where: PlaceSet, dtype: str = "", count: int = 1) -> Iterator[str]:
    """The rows as text.  DebuggerError for an unknown dtype, DumpError where a format does not fit the content."""
    check_dtype(dtype)
    memory = _MEMORIES.get(where.store)
    if dtype in FORMATS and memory is not None:
        places = tuple(where.places())
        location = DumpLocation(where.text, memory, where.lws, where.address, (), places)
        text = f"d get{dtype} {where.text} {count}"
        yield from dump_lines(Get(dtype, location, count, text), board, PdmDump.REAL)
        return
    for row in read_rows(board, where, count):
        yield f"{_LABELS[where.store]}({place_name(row.place)},{row.address}):{_body(row, where.store, dtype)}"


def _body(row: Row, store: Store, dtype: str) -> str:
    if store in _REGISTERS:
        return integers(row.values[0], row.bits, dtype if dtype in INTEGERS else "ul")
    if dtype in FORMATS:
        bodies = [number_body(value, dtype, bits=row.bits) if dtype else untyped(value) for value in row.values]
    else:
        bodies = [integers(value, row.bits, dtype) for value in row.values]
    return bodies[0] if len(bodies) == 1 else f"{{{', '.join(bodies)}}}"
