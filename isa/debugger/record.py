"""What the lines of a run read and wrote, with values: recorded around every moment of a lock-step run."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw.lockstep import Cells, Kind, Lockstep, Moment, Observer, touched
from hw.program import Debug, Mv
from isa.debugger.areas import debug_areas
from isa.debugger.setting import cells_of

KEPT = 64
"""Moments whose values are kept."""


@dataclass(frozen=True, slots=True)
class Access:
    """Cells with their long words before the moment and, of writes, behind it (None while it has not run)."""

    cells: Cells
    before: NDArray[Any]
    after: NDArray[Any] | None = None


@dataclass(slots=True)
class Entry:
    """One moment that has run.  `accesses` is None once forgotten."""

    moment: Moment
    accesses: list[Access] | None = None


@dataclass
class Recorder(Observer):
    """Keeps all moments, and the values of those from line index `values_from` on (the last `KEPT` of them).

    latest: cells the latest moment touched, whether values are kept or not, if `follow`.
    """

    values_from: int = 0
    follow: bool = False
    entries: list[Entry] = field(default_factory=list)
    latest: list[Cells] = field(default_factory=list)
    _kept: deque[Entry] = field(default_factory=deque)
    _pending: list[Access] | None = None

    def begin(self, run: Lockstep) -> None:
        """A run to record."""
        self._run = run

    def touched(self, moment: Moment) -> list[Cells]:
        """What a moment reads and writes; an MV reads at one moment and writes at another."""
        line, board = moment.line, self._run.board
        if isinstance(line, Debug):
            areas = debug_areas(line)
            return [] if areas is None or not areas.write else [c for a in areas.areas for c in cells_of(a, board)]
        cells = touched(line, board, stale_t=self._run.stale_t)
        if isinstance(line, Mv):
            wanted = {Kind.LINE: None, Kind.READ: False, Kind.ARRIVAL: True}[moment.kind]
            return [one for one in cells if one.write is wanted]
        return cells

    def before(self, moment: Moment) -> None:
        """Values as the moment finds them."""
        keep = moment.index >= self.values_from
        self.latest = cells = self.touched(moment) if keep or self.follow else []
        self._pending = [Access(one, one.values(self._run.board)) for one in cells] if keep else None

    def after(self, moment: Moment) -> None:
        """Values as the moment leaves them."""
        entry = Entry(moment)
        self.entries.append(entry)
        if self._pending is None:
            return
        board = self._run.board
        entry.accesses = [
            Access(one.cells, one.before, one.cells.values(board) if one.cells.write else None) for one in self._pending
        ]
        self._kept.append(entry)
        if len(self._kept) > KEPT:
            self._kept.popleft().accesses = None


def expand_bits(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Touched half words as the bits of a long word."""
    wide = bits.astype(np.uint64)
    found = np.zeros_like(wide)
    for half in range(4):
        found |= (wide >> np.uint64(half) & np.uint64(1)) * np.uint64(0xFFFF << 16 * half)
    return found
