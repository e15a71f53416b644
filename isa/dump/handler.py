"""Carries debug statements out against a board: the callable the engine calls when it reaches one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from hw.program import Debug
from hw.state.board import Board
from hw.state.memory import Memory
from isa.dump.errors import DumpError
from isa.dump.location import MATRICES, Location, place_name
from isa.dump.matrix_rows import row_step
from isa.dump.rows import matrix_body, number_body, untyped, wide_body
from isa.dump.statement import Get, Set, parse_debug

_LABELS = {
    Memory.LM0: "LM0",
    Memory.LM1: "LM1",
    Memory.GRF0: "GREG0",
    Memory.GRF1: "GREG1",
    Memory.T: "TREG",
    Memory.MASK: "OMR",
    Memory.L1BM: "L1BM",
    Memory.L2BM: "L2BM",
    Memory.DRAM: "DRAM",
    Memory.PDM: "PIU",
    Memory.MATRIX_X: "MRx",
    Memory.MATRIX_Y: "MRy",
}
_WORDS = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
_CYCLES = 4
_LW1_OF_L1BM = 4  # `$llb<a>` means L1BM[a] and L1BM[a + 4], the 2-LW layout of one PE; rows still advance by one
_VARIABLE_MASKS = range(1, 16)


class PdmDump(Enum):
    """What `d get $p..` shows: the DRAM at the same address, as the official emulator does (isa.md 19), or the PDM."""

    OFFICIAL = "official"
    REAL = "real"


def debug_handler(out: list[str] | TextIO, *, pdm: PdmDump = PdmDump.OFFICIAL) -> Callable[[Debug, Board], None]:
    """A handler for `hw.engine`: dump lines go to `out` (appended without newline to a list, written to a stream).

    The callable raises isa.errors.AsmError for a malformed statement and DumpError for one that cannot be carried out.
    """
    emit = out.append if isinstance(out, list) else lambda line: print(line, file=out)

    def handle(debug: Debug, board: Board) -> None:
        statement = parse_debug(debug.text)
        try:
            if isinstance(statement, Set):
                _set(statement, board)
            else:
                for line in dump_lines(statement, board, pdm):
                    emit(line)
        except DumpError as error:
            raise DumpError(error.message, debug.line, statement.text) from None

    return handle


def dump_lines(get: Get, board: Board, pdm: PdmDump = PdmDump.OFFICIAL) -> Iterator[str]:
    """The lines of one `d get`, in order."""
    location = get.location
    memory = Memory.DRAM if location.memory is Memory.PDM and pdm is PdmDump.OFFICIAL else location.memory
    label = _LABELS[location.memory]
    for place in location.places():
        cells = _cells(board, memory, place)
        head = f"DEBUG-{label}({place_name(place)},"
        for address, body in _rows(get, cells):
            yield f"{head}{address}):{body} #{get.text}"


def _cells(board: Board, memory: Memory, place: tuple[int, ...]) -> NDArray[np.generic]:
    """Writable cells of one instance: long words by address, T [cycle][LW], masks [entry][cycle], matrix [row][PE]."""
    if memory is Memory.DRAM:
        return board.dram[place[0]]
    return board.view(memory)[place]


def _lw(cells: NDArray[np.generic], address: int) -> int:
    """A long word; places past the end read as 0."""
    return int(cells[address]) if address < len(cells) else 0


def _rows(get: Get, cells: NDArray[np.generic]) -> Iterator[tuple[int, str]]:
    """(printed address, body) of each row."""
    location = get.location
    if location.memory is Memory.MASK:
        for cycle in range(_CYCLES):
            for entry in range(location.address, location.address + get.count):
                yield entry, f"Mask{{{int(cells[entry, cycle]) if entry < len(cells) else 0}}}"
        return
    for row in range(get.count):
        if location.memory in MATRICES:
            at = location.address + row
            physical = at * row_step(get.format[-1])
            yield at, matrix_body([int(x) for x in cells[physical]] if physical < len(cells) else [0] * 4, get.format)
        elif location.memory is Memory.T:
            pair = [int(x) for x in cells[row]] if row < len(cells) else [0, 0]
            yield row, _body(pair[0], pair[1], location, get.format)
        elif location.memory in _WORDS:
            yield _word_row(get, cells, row)
        else:
            at = location.address + row
            yield at, _body(_lw(cells, at), _lw(cells, at + _LW1_OF_L1BM), location, get.format)


def _word_row(get: Get, cells: NDArray[np.generic], row: int) -> tuple[int, str]:
    """A row of LM or GRF: one word, one LW or two; addresses count words."""
    location = get.location
    if location.lws == 0:
        at = location.address + row
        lw = _lw(cells, at >> 1)
        if not get.format:
            raise DumpError("Target type is smaller than expected format")
        return at, number_body(lw & 0xFFFFFFFF if at & 1 else lw >> 32, get.format, bits=32)
    at = location.address + 2 * location.lws * row
    return at, _body(_lw(cells, at >> 1), _lw(cells, (at >> 1) + 1), location, get.format)


def _body(lw0: int, lw1: int, location: Location, spec: str) -> str:
    if location.lws == 2:
        return wide_body(lw0, lw1, spec)
    return number_body(lw0, spec) if spec else untyped(lw0)


def _set(statement: Set, board: Board) -> None:
    location = statement.location
    memory = location.memory
    if memory in (Memory.DRAM, Memory.PDM):
        raise DumpError("debug_set : d and p targets unsupported")
    if memory is Memory.T and statement.count > _CYCLES:
        raise DumpError(f"T has {_CYCLES} cycles, {statement.count} were given")
    for place in location.places():
        cells = _cells(board, memory, place)
        if memory is Memory.T:
            _set_t(cells, statement)
        elif memory is Memory.MASK:
            for i, value in enumerate(statement.values):
                if location.address + i in _VARIABLE_MASKS:
                    cells[location.address + i] = value & 0xFF
        else:
            _set_memory(cells, statement, memory)


def _set_t(cells: NDArray[np.generic], statement: Set) -> None:
    """`$lt` clears LW1; the official emulator shows new T content at once after a `d set`."""
    width = statement.location.lws
    for cycle in range(statement.count):
        pair = statement.values[width * cycle : width * (cycle + 1)]
        cells[cycle] = np.array([pair[0], pair[1] if width == 2 else 0], np.uint64)


def _set_memory(cells: NDArray[np.generic], statement: Set, memory: Memory) -> None:
    location = statement.location
    values = statement.values
    for i in range(statement.count):
        if memory not in _WORDS:
            at = location.address + location.lws * i
            _store(cells, at, values[location.lws * i])
            if location.lws == 2:
                _store(cells, at + _LW1_OF_L1BM, values[2 * i + 1])
        elif location.lws == 0:
            _store_word(cells, location.address + i, values[i] >> 32)
        elif location.lws == 1:
            _store(cells, (location.address >> 1) + i, values[i])
        else:
            # the official emulator puts the 2LWs of `$ll..` eight words apart
            at = (location.address >> 1) + 4 * i
            _store(cells, at, values[2 * i])
            _store(cells, at + 1, values[2 * i + 1])


def _store(cells: NDArray[np.generic], at: int, value: int) -> None:
    if at >= len(cells):
        raise DumpError(f"`d set` runs past the end of the memory ({len(cells)} long words)")
    cells[at] = np.uint64(value)


def _store_word(cells: NDArray[np.generic], at: int, word: int) -> None:
    if at >> 1 >= len(cells):
        raise DumpError(f"`d set` runs past the end of the memory ({len(cells)} long words)")
    old = int(cells[at >> 1])
    cells[at >> 1] = np.uint64(old & 0xFFFFFFFF00000000 | word if at & 1 else old & 0xFFFFFFFF | word << 32)
