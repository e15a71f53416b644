"""`Board`: the state of four groups, eight L2Bs, 64 L1Bs, 1024 MABs and 4096 PEs as flat arrays.

PE memories are address-major with the 64 PEs of an L1B innermost: a row of 64 long words is ``[p][m]``, PE in the MAB
outside, MAB inside (the vector axis of the kernels).  L1B index: ``l1 = 8 * q + b``, L2B index ``q = 2 * n + c``.
"""

from __future__ import annotations

from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from hw.state import access
from hw.state.memory import Memory
from hw.state.offchip import OffchipInit, make_dram, make_pdm
from hw.state.topology import Spec, Topology

U64 = NDArray[np.uint64]
_DIRTY_START = 0xFEEDCAFEDEADBEEF


class LatchState(Enum):
    """May a forwarding latch be read?"""

    UNWRITTEN = auto()
    VALID = auto()
    IDLE = auto()  # its unit did nothing in the last step that counts


class Board:
    """All memories, registers and latches of a board.

    spec: a chip description (`hw.spec.ChipSpec`) or None for MN-Core 2.  offchip: "zero", "unique" or "uninitialized".
    Arrays (uint64 unless said): lm [2][l1][2048][4][16], grf [2][l1][256][4][16], t and t_previous [l1][512] (a tile of
    `hw.kernels.abi`), masks uint8 [l1][32][4 c][4][16], bar int64 [2][l1][4][16], matrix [l1][2][16 * 64],
    latch_mau/alu/lbf/mread [l1][512], turn [l1][256], l1bm [l1][8192], l2bm [q][32768], pdm [n][524288], dram list of
    [2**29], dar uint32 [n][1024], darbuf uint32 [n][512], dar_entry and dar_position int64 [n].
    `t_previous` is what the step after a write of T still reads (isa.md 3.5); it counts only while `t_pending`.
    Memory is committed on first touch.  `reset` replaces the arrays: views taken before belong to the old state.
    """

    def __init__(self, spec: Spec | None = None, offchip: str = "zero") -> None:
        self.topology = Topology.of(spec)
        self.offchip = OffchipInit.parse(offchip)
        self.reset()

    def reset(self) -> None:
        """Everything as after power-on (isa.md 1.2, 3.7); off-chip memories as the mode says."""
        size = self.topology
        l1, lanes = size.l1bs, (size.pes, size.mabs)
        self.lm: U64 = np.zeros((2, l1, size.lm, *lanes), np.uint64)
        self.grf: U64 = np.zeros((2, l1, size.grf, *lanes), np.uint64)
        self.t: U64 = np.zeros((l1, 512), np.uint64)
        self.t_previous: U64 = np.zeros((l1, 512), np.uint64)
        self.t_pending = False
        self.masks: NDArray[np.uint8] = _reset_masks(l1, lanes)
        self.bar: NDArray[np.int64] = np.zeros((2, l1, *lanes), np.int64)
        self.matrix: U64 = np.zeros((l1, 2, 16 * 64), np.uint64)
        self.latch_mau: U64 = np.zeros((l1, 512), np.uint64)
        self.latch_alu: U64 = np.zeros((l1, 512), np.uint64)
        self.latch_lbf: U64 = np.zeros((l1, 512), np.uint64)
        self.latch_mread: U64 = np.zeros((l1, 512), np.uint64)
        self.mau_state = LatchState.UNWRITTEN
        self.alu_state = LatchState.UNWRITTEN
        self.turn: U64 = np.zeros((l1, 256), np.uint64)
        self.l1bm: U64 = np.zeros((l1, size.l1bm), np.uint64)
        self.l2bm: U64 = np.zeros((size.l2bs, size.l2bm), np.uint64)
        self.dar: NDArray[np.uint32] = np.zeros((size.groups, size.dar), np.uint32)
        self.darbuf: NDArray[np.uint32] = np.zeros((size.groups, size.darbuf_words), np.uint32)
        self.dar_entry: NDArray[np.int64] = np.zeros(size.groups, np.int64)
        self.dar_position: NDArray[np.int64] = np.zeros(size.groups, np.int64)
        self.pdm: U64 = make_pdm(self.offchip, size.groups, size.pdm)
        self.dram: list[U64] = make_dram(self.offchip, size.groups, size.dram)

    def fill(self, pattern: int) -> None:
        """Set every long word of LM, GRF, T, matrix registers, L1BM and L2BM to `pattern`.  Commits about 150 MiB."""
        for array in (self.lm, self.grf, self.t, self.t_previous, self.matrix, self.l1bm, self.l2bm):
            array.fill(pattern)

    def dirty(self) -> None:
        """Junk in LM, GRF, L1BM, L2BM and mask entries 1..15, the same on every call (isa.md 15.3, `--dirty`).

        The first long word of each memory is FEEDCAFEDEADBEEF; the rest is our own sequence.
        """
        for array in (self.lm, self.grf, self.l1bm, self.l2bm):
            array.reshape(-1)[:] = _junk(array.size)
        variable = self.masks[:, 1:16]
        variable[:] = (_junk(variable.size) & 15).astype(np.uint8).reshape(variable.shape)

    def view(self, memory: Memory) -> NDArray[np.generic]:
        """A writable view with one axis per place level, then the address axes (see `hw.state.access.view`)."""
        return access.view(self, memory)

    def read_lw(self, memory: Memory, address: int, *place: int) -> int:
        """Long word `address` (LW units) of LM, GRF, L1BM, L2BM, PDM or DRAM at a full place (n, c, b, m, p)."""
        return access.read_lw(self, memory, address, place)

    def write_lw(self, memory: Memory, address: int, value: int, *place: int | None) -> None:
        """Store a long word; a level given as None or left out means all its instances."""
        access.write_lw(self, memory, address, value, place)

    def read_word(self, memory: Memory, address: int, *place: int) -> int:
        """32-bit word `address` (word units, even = most significant half of a long word)."""
        return access.read_word(self, memory, address, place)

    def write_word(self, memory: Memory, address: int, value: int, *place: int | None) -> None:
        """Store a 32-bit word; a level given as None or left out means all its instances."""
        access.write_word(self, memory, address, value, place)


def _reset_masks(l1: int, lanes: tuple[int, int]) -> NDArray[np.uint8]:
    """Entry 0 all ones, 1..15 zero, 16+k the pattern of k: cycle c is on when bit 3-c of k is (isa.md 3.7)."""
    masks = np.zeros((l1, 32, 4, *lanes), np.uint8)
    masks[:, 0] = 15
    for pattern in range(16):
        for cycle in range(4):
            masks[:, 16 + pattern, cycle] = 15 * (pattern >> (3 - cycle) & 1)
    return masks


def _junk(count: int) -> U64:
    """`count` long words of a splitmix64 sequence behind FEEDCAFEDEADBEEF."""
    x = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(_DIRTY_START)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    x[:1] = _DIRTY_START
    return x
