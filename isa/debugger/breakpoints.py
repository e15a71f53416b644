"""Breakpoints: stop before a line, or behind a write to a place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hw.lockstep import Cells, Store
from hw.lockstep.cells import Spot
from hw.state.topology import Topology
from isa.debugger.places import PlaceSet


@dataclass(frozen=True, slots=True)
class LineBreak:
    """Stop before source line `line`."""

    number: int
    line: int

    def __str__(self) -> str:
        return f"{self.number}: before line {self.line}"


@dataclass(frozen=True, slots=True)
class WriteBreak:
    """Stop when anything writes to `count` rows of a place, whether the content changes or not."""

    number: int
    where: PlaceSet
    count: int

    def __str__(self) -> str:
        rows = "" if self.count == 1 else f", {self.count} rows"
        return f"{self.number}: write to {self.where.text}{rows}"

    def hit(self, cells: Cells, shape: tuple[int, ...], size: Topology) -> Spot | None:
        """The first watched place that `cells` (of indexed shape `shape`) write, or None."""
        store = self.where.store
        if cells.store is not store or (cells.group is not None and not self._names(0, cells.group)):
            return None
        bits, address = np.broadcast_to(cells.bits, shape), np.broadcast_to(cells.address, shape)
        bits = bits & self._halves(address) if store.in_words else bits * np.isin(address, self._rows())
        found = bits != 0
        if cells.group is None:
            found &= self._outer(cells, size).reshape(-1, *[1] * (len(shape) - 1))
        if store.axes[-1] == "m":
            found &= self._lanes(size)
        positions = np.argwhere(found)
        if not len(positions):
            return None
        watched = replace(cells, bits=bits.astype(np.uint8))
        return watched.spot(tuple(int(x) for x in positions[0]), shape, size.l2b_per_group, size.l1b_per_l2b)

    def _names(self, level: int, index: int) -> bool:
        chosen = self.where.levels[level]
        return chosen is None or index in chosen

    def _words(self) -> np.ndarray:
        words = max(1, 2 * self.where.lws)
        return np.arange(self.where.address, self.where.address + words * self.count)

    def _rows(self) -> np.ndarray:
        """Watched addresses as `Cells` count them: long words, rows, entries, cycles."""
        where = self.where
        rows = np.arange(where.address, where.address + self.count)
        return np.union1d(rows, rows + 4) if where.lws == 2 and where.store is Store.L1BM else rows

    def _halves(self, address: np.ndarray) -> np.ndarray:
        """Watched half words of LM or GRF long words."""
        words = self._words()
        return (12 * np.isin(2 * address, words) | 3 * np.isin(2 * address + 1, words)).astype(np.uint8)

    def _outer(self, cells: Cells, size: Topology) -> np.ndarray:
        """Which instances along the first axis are watched."""
        kind = cells.store.axes[0]
        if kind == "n":
            return np.array([self._names(0, int(n)) for n in cells.places])
        q = cells.places // size.l1b_per_l2b if kind == "l" else cells.places
        n, c = q // size.l2b_per_group, q % size.l2b_per_group
        found = np.array([self._names(0, int(x)) and self._names(1, int(y)) for x, y in zip(n, c, strict=True)])
        if kind == "l":
            found &= np.array([self._names(2, int(b)) for b in cells.places % size.l1b_per_l2b])
        return found

    def _lanes(self, size: Topology) -> np.ndarray:
        """Which PEs of an L1B are watched, [p][m]."""
        m, p = (self.where.levels[level] for level in (3, 4))
        found = np.zeros((size.pes, size.mabs), np.bool_)
        found[np.ix_(range(size.pes) if p is None else p, range(size.mabs) if m is None else m)] = True
        return found


Breakpoint = LineBreak | WriteBreak
