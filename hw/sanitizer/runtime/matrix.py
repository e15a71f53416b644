"""States of the matrix registers: writes, transposed reads, and the check that a used plane was written at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.cells import Spot
from hw.lockstep.matrix_cells import read_cells, written_rows
from hw.lockstep.stores import Store
from hw.program import Compute
from hw.sanitizer.runtime.dataflow import Pair
from hw.sanitizer.runtime.finding import Finding
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.states import KNOWN, WHOLE, any_of
from hw.state.board import Board

U8 = NDArray[np.uint8]
_PLANES = (Store.MATRIX_X, Store.MATRIX_Y)


class MatrixStates:
    """Both planes; arrays [l1][row][p][m], p being the PE column."""

    def __init__(
        self, board: Board, shadow: Shadow, scope: NDArray[np.bool_], report: Callable[[Finding], None]
    ) -> None:
        self._board, self._shadow, self._scope, self._report = board, shadow, scope, report

    def _plane(self, item: Compute) -> U8:
        assert item.plane is not None
        return self._shadow[_PLANES[item.plane]]

    def write(self, item: Compute, pair: Pair) -> None:
        """Rows take the states of the operand (isa.md 10.2)."""
        plane = self._plane(item)
        shape = (len(plane), 4, 4, 16)
        states = [np.broadcast_to(state, shape) for state in (pair.lw0, pair.lw1)]
        for cycle, rows in enumerate(written_rows(item.kernel, item.params)):
            for row, lw in rows:
                plane[:, row] = states[lw][:, cycle] | 0xF0

    def check(self, item: Compute, line: int) -> None:
        """A MAB that takes part uses a plane in which nothing is written."""
        plane = self._plane(item)
        assert item.plane is not None
        empty = ~any_of(plane >> 4 != 0, 1, 2)  # [l1][m]
        bad = empty & any_of(self._scope[:, 0], 1)
        if not bad.any():
            return
        size = self._board.topology
        l1, m = (int(axis[0]) for axis in np.nonzero(bad))
        q, b = divmod(l1, size.l1b_per_l2b)
        spot = Spot(_PLANES[item.plane], (*divmod(q, size.l2b_per_group), b, m), 0)
        what = "uses the matrix at {spot}, of which no row has been written"
        hint = "write it with `mwrite` first"
        self._report(Finding("uninitialised/nothing", line, item.text, what, hint, spot, int(bad.sum()) - 1))
        plane.transpose(0, 3, 1, 2)[bad] = KNOWN

    def read(self, item: Compute) -> Pair:
        """Result of a transposed read (isa.md 10.3): known where all cells that a PE's long word depends on are."""
        plane = self._plane(item)
        needed = read_cells(item.kernel, item.params)
        found = np.full((2, len(plane), 4, 4, 16), KNOWN)
        for lw, c, p in np.ndindex(2, 4, 4):
            rows, columns = np.nonzero(needed[lw, c, p])
            if len(rows):
                found[lw, :, c, p] = WHOLE[64][np.bitwise_and.reduce(plane[:, rows, columns], axis=1)]
        return Pair(found[0], found[1])
