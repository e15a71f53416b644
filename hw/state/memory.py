"""Names of everything a board stores, and the levels at which each memory is replicated."""

from __future__ import annotations

from enum import Enum


class Memory(Enum):
    """A kind of memory; the value lists its place levels: n group, c L2B in the group, b L1B, m MAB, p PE."""

    LM0 = ("lm0", "ncbmp")
    LM1 = ("lm1", "ncbmp")
    GRF0 = ("grf0", "ncbmp")
    GRF1 = ("grf1", "ncbmp")
    T = ("t", "ncbmp")
    MASK = ("mask", "ncbmp")
    BAR0 = ("bar0", "ncbmp")
    BAR1 = ("bar1", "ncbmp")
    MATRIX_X = ("matrix_x", "ncbm")
    MATRIX_Y = ("matrix_y", "ncbm")
    L1BM = ("l1bm", "ncb")
    L2BM = ("l2bm", "nc")
    PDM = ("pdm", "n")
    DRAM = ("dram", "n")

    @property
    def levels(self) -> str:
        """The place levels in order."""
        return self.value[1]
