"""States of the matrix registers: writes, transposed reads, and the check that a used plane was written at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.cells import Spot
from hw.lockstep.stores import Store
from hw.lockstep.touch import written_rows
from hw.program import Compute
from hw.sanitizer.runtime.dataflow import Pair
from hw.sanitizer.runtime.finding import Finding
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.states import KNOWN, WHOLE
from hw.state.board import Board

U8 = NDArray[np.uint8]
_ROWS = {"d": 4, "f": 8, "g": 8, "h": 16}
_PLANES = (Store.MATRIX_X, Store.MATRIX_Y)


def _precision(item: Compute) -> str:
    """Letter of a matrix kernel's name (``mread.h2``, ``mau.gmmul``)."""
    return item.kernel.name.partition(".")[2][0]


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
        rows = written_rows(item)
        lws = len(rows) // 4
        for n, row in enumerate(rows):
            state = np.broadcast_to(pair.lw1 if n % lws else pair.lw0, (len(plane), 4, 4, 16))
            plane[:, row] = state[:, n // lws] | 0xF0

    def check(self, item: Compute, line: int) -> None:
        """A MAB that takes part uses a plane in which nothing is written."""
        plane = self._plane(item)
        assert item.plane is not None
        empty = ~(plane[:, : _ROWS[_precision(item)]] >> 4).any(axis=(1, 2))  # [l1][m]
        bad = empty & self._scope[:, 0].any(axis=1)
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
        """Result of a transposed read (isa.md 10.3): known where all elements of the column that a PE receives are."""
        plane = self._plane(item)
        prec, start = _precision(item), item.params[0]
        size = _ROWS[prec]
        per_pe = size // 4
        pair = []
        for lw in range(2 if prec == "h" else 1):
            stride = 2 if prec == "h" else 1
            columns = [((start + stride * c + lw) % size) // per_pe for c in range(4)]
            by_column = plane[:, :size, columns]  # [l1][row][c][m]
            grouped = by_column.reshape(len(plane), 4, per_pe, 4, 16)  # [l1][p][row of the PE][c][m]
            state = WHOLE[64][np.bitwise_and.reduce(grouped, axis=2)]
            pair.append(state.transpose(0, 2, 1, 3))
        known = np.full((1, 1, 1, 1), KNOWN)
        return Pair(pair[0], pair[1] if len(pair) > 1 else known)
