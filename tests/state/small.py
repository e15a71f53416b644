"""A chip description with the full topology and tiny memories, so that tests can compare whole boards."""

from __future__ import annotations

from hw.state import Board

_SIZES = {
    "topology.groups": 4,
    "topology.l2b_per_group": 2,
    "topology.l1b_per_l2b": 8,
    "topology.mab_per_l1b": 16,
    "topology.pe_per_mab": 4,
    "capacity.lm": 16,
    "capacity.grf": 16,
    "capacity.l1bm": 512,
    "capacity.l2bm": 1024,
    "capacity.pdm": 4096,
    "capacity.dram": 4096,
    "capacity.dar": 1024,
}


class SmallSpec:
    """Whole numbers by dotted name, as `hw.spec.ChipSpec` gives them."""

    def integer(self, name: str) -> int:
        return _SIZES[name]


def small_board(offchip: str = "zero") -> Board:
    """4 groups, 8 L2Bs, 64 L1Bs; LM and GRF 16 LW, L1BM 512, L2BM 1024, PDM and DRAM 4096."""
    return Board(SmallSpec(), offchip)
