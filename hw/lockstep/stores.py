"""Names of everything a line can read or write, and the array of a board that holds it.

Axes of the arrays: l L1B, q L2B, n group, a address in long words, w long word of a 2LW, c cycle, e mask entry,
r matrix row, p PE (column of a matrix row), m MAB.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from numpy.typing import NDArray

from hw.state.board import Board


class Store(Enum):
    """A memory, register or latch; the value is (what messages call it, axes of its array, place levels)."""

    LM0 = ("LM0", "lapm", "ncbmp")
    LM1 = ("LM1", "lapm", "ncbmp")
    GRF0 = ("GRF0", "lapm", "ncbmp")
    GRF1 = ("GRF1", "lapm", "ncbmp")
    T = ("T", "lwcpm", "ncbmp")
    T_BEFORE = ("T (as the step before found it)", "lwcpm", "ncbmp")  # isa.md 3.5: what a step behind a T write reads
    ALUF = ("$aluf", "lwcpm", "ncbmp")
    MAUF = ("$mauf", "lwcpm", "ncbmp")
    LBF = ("$lbf", "lwcpm", "ncbmp")
    MREADF = ("$mreadf", "lwcpm", "ncbmp")
    MASK = ("mask register", "lecpm", "ncbmp")
    BAR0 = ("base address of LM0", "lpm", "ncbmp")
    BAR1 = ("base address of LM1", "lpm", "ncbmp")
    MATRIX_X = ("matrix register x", "lrpm", "ncbmp")
    MATRIX_Y = ("matrix register y", "lrpm", "ncbmp")
    TURN = ("turnaround register", "la", "ncb")
    L1BM = ("L1BM", "la", "ncb")
    L2BM = ("L2BM", "qa", "nc")
    PDM = ("PDM", "na", "n")
    DRAM = ("DRAM", "na", "n")
    DAR = ("DAR", "na", "n")
    DARBUF = ("DAR buffer", "na", "n")

    @property
    def label(self) -> str:
        """How messages call it."""
        return str(self.value[0])

    @property
    def axes(self) -> str:
        """Axes of its array."""
        return str(self.value[1])

    @property
    def levels(self) -> str:
        """Place levels of one instance."""
        return str(self.value[2])

    @property
    def in_words(self) -> bool:
        """Are its addresses shown in 32-bit words?  LM and GRF; others count long words, rows, entries or cycles."""
        return self.axes == "lapm"

    @property
    def unit(self) -> str:
        """What an address of it counts, "" for long words."""
        return _UNITS.get(self.axes, "")


_UNITS = {"lapm": "word", "lwcpm": "cycle", "lecpm": "entry", "lrpm": "row"}

PE_MEMORIES = (Store.LM0, Store.LM1, Store.GRF0, Store.GRF1)


def array_of(board: Board, store: Store, group: int | None = None) -> NDArray[Any]:
    """The array of a store, a view with the axes it names; the DRAMs of the groups are separate: [a] of `group`."""
    l1 = board.topology.l1bs
    match store:
        case Store.LM0 | Store.LM1:
            return board.lm[int(store is Store.LM1)]
        case Store.GRF0 | Store.GRF1:
            return board.grf[int(store is Store.GRF1)]
        case Store.MATRIX_X | Store.MATRIX_Y:
            return board.matrix[:, int(store is Store.MATRIX_Y)].reshape(l1, 16, 4, 16)
        case Store.BAR0 | Store.BAR1:
            return board.bar[int(store is Store.BAR1)]
        case Store.DRAM:
            assert group is not None, "the DRAMs are separate arrays"
            return board.dram[group]
    array: NDArray[Any] = getattr(board, _ATTRIBUTES[store])
    return array.reshape(l1, 2, 4, 4, 16) if store.axes == "lwcpm" else array


_ATTRIBUTES = {
    Store.T: "t",
    Store.T_BEFORE: "t_previous",
    Store.ALUF: "latch_alu",
    Store.MAUF: "latch_mau",
    Store.LBF: "latch_lbf",
    Store.MREADF: "latch_mread",
    Store.MASK: "masks",
    Store.TURN: "turn",
    Store.L1BM: "l1bm",
    Store.L2BM: "l2bm",
    Store.PDM: "pdm",
    Store.DAR: "dar",
    Store.DARBUF: "darbuf",
}
