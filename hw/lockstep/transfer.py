"""An MV in two halves: `read` takes the source, `write` puts the data at the destination later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hw.engine.moves import Transfer
from hw.program import Mv, MvPlace
from hw.state.board import Board

U64 = NDArray[np.uint64]


class SplitTransfer(Transfer):
    """One MV on its way.  Data are copied when read; DAR entries of the destination count when it is written."""

    def __init__(self, mv: Mv, board: Board) -> None:
        super().__init__(mv, board)
        self._parts: list[tuple[MvPlace, int, U64]] = []
        self._everywhere: list[U64] = []

    def read_source(self) -> None:
        """The beginning of the data phase."""
        self.run()

    def write_destination(self) -> None:
        """The completion."""
        for place, group, data in self._parts:
            super().write(place, group, data)
        for data in self._everywhere:
            super().write_l2bms(data)

    def write(self, place: MvPlace, group: int, data: U64) -> None:
        """Keep data for one memory."""
        self._parts.append((place, group, data.copy()))

    def write_l2bms(self, data: U64) -> None:
        """Keep data for the L2BMs."""
        self._everywhere.append(data.copy())
