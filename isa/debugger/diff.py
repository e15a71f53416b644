"""The first difference between two runs: both advance line by line, and what either writes is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hw.lockstep import Cells, Kind, Moment
from hw.lockstep.cells import Spot
from hw.lockstep.stores import PE_MEMORIES, Store, array_of
from hw.program import Mv, Program
from hw.state.board import Board
from isa.debugger.errors import RUN_ERRORS

if TYPE_CHECKING:
    from isa.debugger.debugger import Debugger

Key = tuple[Kind, int]
_WHOLE = (
    *PE_MEMORIES,
    Store.T,
    Store.MASK,
    Store.BAR0,
    Store.BAR1,
    Store.MATRIX_X,
    Store.MATRIX_Y,
    Store.TURN,
    Store.L1BM,
    Store.L2BM,
    Store.PDM,
    Store.DAR,
)


@dataclass(frozen=True)
class Difference:
    """Where two runs part.

    line, other_line: source lines behind which they differ (0: before the first line, or that run has ended).  spot:
    the first cell; bit: the highest differing bit of that word or long word (0 = least significant); value,
    other_value: its contents.  what: in words.
    """

    line: int
    other_line: int
    what: str
    spot: Spot | None = None
    bit: int = -1
    value: int = 0
    other_value: int = 0

    def __str__(self) -> str:
        return self.what


def first_difference(a: Debugger, b: Debugger) -> Difference | None:
    """See `Debugger.diff`."""
    found = _compare_boards(a._board, b._board)
    if found is not None:
        return _difference("before the next line", 0, 0, found)
    sides = (_Side(a), _Side(b))
    while True:
        for side in sides:
            side.line()
        for key in list(sides[0].ready):
            if key in sides[1].ready:
                cells = [*sides[0].ready.pop(key), *sides[1].ready.pop(key)]
                for one in cells:
                    found = _compare(one, a._board, b._board)
                    if found is not None:
                        lines = [side.source_line(key) for side in sides]
                        return _difference(sides[0].text(key), lines[0], lines[1], found)
        errors = [side.error for side in sides]
        if any(errors):
            return _stopped(sides, errors)
        if sides[0].ended and sides[1].ended:
            return None
        if sides[0].ended is not sides[1].ended:
            return _longer(sides)


class _Side:
    """One of the two runs.  `ready`: cells by moment that wait for the other run to get there."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._program: Program = debugger._program
        lines = self._program.lines
        self._ordinals = {index: n for n, index in enumerate(i for i, line in enumerate(lines) if isinstance(line, Mv))}
        self._first = debugger._run.position
        self._indices: dict[Key, int] = {}
        self.ready: dict[Key, list[Cells]] = {}
        self.error: Exception | None = None
        self.ended = False
        self.last = 0

    def line(self) -> None:
        """Advance to behind the next line, or to the end."""
        run, recorder = self._debugger._run, self._debugger._recorder
        recorder.follow = True
        while not self.ended and self.error is None:
            try:
                moment = run.advance()
            except RUN_ERRORS as error:
                self.error = self._debugger._error = error
                return
            if moment is None:
                self.ended = True
                return
            wanted = moment.kind is Kind.READ
            key = self._key(moment)
            self._indices[key] = moment.index
            self.ready[key] = [one for one in recorder.latest if one.write is not wanted]
            if moment.kind is Kind.LINE:
                self.last = moment.line.line
                return

    def _key(self, moment: Moment) -> Key:
        """Lines correspond by their distance from the start of the comparison, MVs by their number."""
        if moment.kind is Kind.LINE:
            return moment.kind, moment.index - self._first
        return moment.kind, self._ordinals[moment.index]

    def source_line(self, key: Key) -> int:
        """The line a moment belongs to."""
        return self._program.lines[self._indices[key]].line

    def text(self, key: Key) -> str:
        """How messages call a moment."""
        line = self._program.lines[self._indices[key]]
        said = {Kind.LINE: "behind", Kind.READ: "in what the MV reads of", Kind.ARRIVAL: "in the data of the MV of"}[
            key[0]
        ]
        return f"{said} line {line.line} (`{line.text}`)"


@dataclass(frozen=True, slots=True)
class _Found:
    """A differing long word: its name, and what either board holds."""

    spot: Spot
    x: int
    y: int


def _compare_boards(a: Board, b: Board) -> _Found | None:
    """The on-chip memories and the PDM, whole; DRAM is compared where an MV reads it."""
    for store in _WHOLE:
        x, y = array_of(a, store), array_of(b, store)
        if not np.array_equal(x, y):
            position = tuple(int(i) for i in np.argwhere(x != y)[0])
            cells, where = _one_cell(store, position)
            return _Found(_spot(cells, where, where, a), int(x[position]), int(y[position]))
    return None


def _one_cell(store: Store, position: tuple[int, ...]) -> tuple[Cells, tuple[int, ...]]:
    """The cell at a position of a whole array, and where it stands in an indexed shape that starts with it."""
    axes = dict(zip(store.axes, position, strict=True))
    address = next((axes[axis] for axis in "aecr" if axis in axes), 0)
    lanes = store.axes[-1] == "m"
    shape = (1, 1, 1, 1) if lanes else (1, 1)
    cells = Cells(store, True, (), np.array([position[0]]), np.full(shape, address), np.full(shape, 15, np.uint8))
    return cells, (0, 0, axes["p"], axes["m"]) if lanes else (0, 0)


def _compare(cells: Cells, a: Board, b: Board) -> _Found | None:
    """The first differing one of these cells."""
    x, y = cells.values(a), cells.values(b)
    different = np.argwhere(x != y)
    if not len(different):
        return None
    position = tuple(int(i) for i in different[0])
    return _Found(_spot(cells, position, tuple(n - 1 for n in x.shape), a), int(x[position]), int(y[position]))


def _spot(cells: Cells, position: tuple[int, ...], last: tuple[int, ...], board: Board) -> Spot:
    """Name of a cell; `last` is the last position of the indexed shape."""
    size = board.topology
    return cells.spot(position, tuple(n + 1 for n in last), size.l2b_per_group, size.l1b_per_l2b)


def _difference(when: str, line: int, other_line: int, found: _Found) -> Difference:
    """Put a differing long word into words; of LM and GRF the 32-bit word that holds the highest differing bit."""
    spot, x, y = found.spot, found.x, found.y
    bit = (x ^ y).bit_length() - 1
    digits = 16
    if spot.store.in_words:
        high = bit >= 32
        spot = Spot(spot.store, spot.place, (spot.address & ~1) + (not high))
        x, y = (x >> 32, y >> 32) if high else (x & 0xFFFFFFFF, y & 0xFFFFFFFF)
        bit, digits = bit % 32, 8
    values = f"0x{x:0{digits}X} and 0x{y:0{digits}X}"
    what = f"{when} the runs differ: {spot}, bit {bit} ({values})"
    return Difference(line, other_line, what, spot, bit, x, y)


def _stopped(sides: tuple[_Side, _Side], errors: list[Exception | None]) -> Difference | None:
    """One run stopped with an error, or both did."""
    if errors[0] is not None and errors[1] is not None:
        if type(errors[0]) is type(errors[1]):
            return None
        what = f"both runs stopped: {errors[0]} / {errors[1]}"
    else:
        number = 0 if errors[0] is not None else 1
        name = ("this run", "the other run")[number]
        what = f"{name} stopped, the other one went on: {errors[number]}"
    return Difference(sides[0].last, sides[1].last, what)


def _longer(sides: tuple[_Side, _Side]) -> Difference:
    name = "this run" if sides[0].ended else "the other run"
    longer = sides[1] if sides[0].ended else sides[0]
    what = f"{name} has ended, the other one goes on with line {longer.last}; up to there they agree"
    return Difference(0 if sides[0].ended else sides[0].last, 0 if sides[1].ended else sides[1].last, what)
