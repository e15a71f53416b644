"""How the long words of a source reach the PEs that need some of them: the stream, and which slot holds what.

The levels of the exchange decide the path.  A PE sees the long words of every member of the exchanged levels and only
its own member's in the others; a source that is copied over a level has one member there.  Addresses of the PE-side
image within an L1B follow `compiler.layout.image` (i = 64a + 4m + p, 4a + p or a).

| exchange        | path                                                                             |
|-----------------|----------------------------------------------------------------------------------|
| none, PE        | the PE's own long words; for PE three rotations inside the MAB                   |
| + MAB           | L1BM                                                                             |
| + L1B           | L1BM -> L2BM -> all L1BMs                                                        |
| + L2B           | ... -> DRAM -> all L2BMs -> ... (before `l1bmd`: PDM of group 0 instead of DRAM)  |

The last stage is `l1bmd` (own MAB and PE), `l1bmm` (own PE) or `l1bmp` (nothing of its own).  A source in DRAM is
downloaded piece by piece; each PE gets its own long words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from compiler.layout import Level, PadLayout
from compiler.layout.levels import IntArray
from compiler.switch.cells import Part

#: Slots of a chunk and of a feed are counted in this unit, so that no load step crosses a boundary.
UNIT = 16
#: Long words of the zero word behind a chunk.
ZERO_LWS = 2
L1_LIMIT = 4096
L2_LIMIT = 16384


class Load(Enum):
    """Last stage.  granule: slots that one load step fills; span: long words of L1BM it reads."""

    OWN = ("own", 4, 0)
    OWN_ROTATED = ("own, rotated", 16, 0)
    BLOCKS = ("l1bmd", 4, 256)
    BLOCKS_ROTATED = ("l1bmd, rotated", 16, 256)
    LANES = ("l1bmm", 8, 32)
    ALL = ("l1bmp", 8, 8)
    DRAM = ("download", 128, 0)

    @property
    def granule(self) -> int:
        """Slots per load step."""
        return self.value[1]

    @property
    def span(self) -> int:
        """Long words of L1BM per load step."""
        return self.value[2]


@dataclass(frozen=True)
class Feed:
    """One source's stream.

    per_address: long words of an L1B per LM address.  batch: addresses that go through the buffers together.
    by_blocks: L1Bs one after the other in L2BM instead of interleaved, so that long words of one L1B stay together.
    """

    num_lw: int
    per_address: int
    l1b_split: bool
    exchange: frozenset[Level]
    load: Load
    by_blocks: bool
    batch: int

    @classmethod
    def of(cls, source: PadLayout, exchange: frozenset[Level]) -> Feed:
        """The feed of a source for an exchange over `exchange`."""
        mab, pe = (not source.is_broadcast(level) for level in (Level.MAB, Level.PE))
        per_address = 64 if mab else 4 if pe else 1
        l1b_split = not source.is_broadcast(Level.L1B)
        rotated = Level.PE in exchange
        by_blocks = False
        if exchange <= {Level.PE}:
            load = Load.OWN_ROTATED if rotated else Load.OWN
        elif per_address == 64 and Level.MAB not in exchange:
            load = Load.BLOCKS_ROTATED if rotated else Load.BLOCKS
            by_blocks = Level.L1B in exchange
        else:
            load = Load.ALL if per_address == 1 or rotated else Load.LANES
            by_blocks = l1b_split and Level.L2B in exchange and Level.L1B not in exchange
        batch = -(-source.num_lw // UNIT) * UNIT
        if load not in (Load.OWN, Load.OWN_ROTATED):
            in_l1 = per_address * (8 if Level.L1B in exchange else 1) * (8 if Level.L2B in exchange else 1)
            in_l2 = per_address * (8 if l1b_split else 1) * (8 if Level.L2B in exchange else 1)
            step = 64 // per_address
            limit = min(L1_LIMIT // in_l1, L2_LIMIT // in_l2 if exchange & {Level.L1B, Level.L2B} else L1_LIMIT)
            batch = min(limit // step * step, -(-source.num_lw // step) * step)
        return cls(source.num_lw, per_address, l1b_split, exchange, load, by_blocks, batch)

    @property
    def via_dram(self) -> bool:
        """Whether L2Bs exchange through DRAM, which mixes pieces of 16 long words of the four groups."""
        return Level.L2B in self.exchange and self.load in (Load.LANES, Load.ALL)

    @property
    def inside(self) -> int:
        """Long words of an L1B in a batch."""
        return self.batch * self.per_address

    @property
    def l2_part(self) -> int:
        """Long words of one L2B in a batch."""
        return self.inside * (8 if self.l1b_split else 1)

    @property
    def l1_total(self) -> int:
        """Long words that every L1BM receives for a batch."""
        blocks = 8 if self.l1b_split and Level.L1B in self.exchange else 1
        return self.inside * blocks * (8 if Level.L2B in self.exchange else 1)

    @property
    def batch_slots(self) -> int:
        """Slots of a batch, rounded up to UNIT."""
        if self.load in (Load.OWN, Load.OWN_ROTATED):
            slots = self.batch
        else:
            slots = -(-self.l1_total // {Load.LANES: 4, Load.ALL: 1}.get(self.load, 64))
        if self.load in (Load.OWN_ROTATED, Load.BLOCKS_ROTATED):
            slots = -(-slots // 4) * 16
        return -(-slots // UNIT) * UNIT

    @property
    def slots(self) -> int:
        """Slots of the whole stream."""
        return -(-self.num_lw // self.batch) * self.batch_slots

    def slot(self, part: Part) -> IntArray:
        """Slot in which each cell of `part` sees its long word."""
        batch, a = part.addr // self.batch, part.addr % self.batch
        pe = part.first[Level.PE]
        if self.load in (Load.OWN, Load.OWN_ROTATED):
            return self._rotated(a, part) if self.load is Load.OWN_ROTATED else a
        x = self._l1_address(a, part)
        if self.load is Load.LANES:
            slot = x // 4
        elif self.load is Load.ALL:
            row = x % 8
            slot = x - row + 2 * (row % 4) + row // 4
        else:
            slot = self._rotated(x // 64, part) if self.load is Load.BLOCKS_ROTATED else x // 64
        assert pe.shape == a.shape
        return batch * self.batch_slots + slot

    def _rotated(self, slot: IntArray, part: Part) -> IntArray:
        turns = (part.own_pe - part.first[Level.PE]) % 4
        return 16 * (slot // 4) + 4 * turns + slot % 4

    def _l1_address(self, a: IntArray, part: Part) -> IntArray:
        """Address in L1BM, counted from the start of the batch; own members count as 0."""
        i = a * self.per_address
        if self.per_address == 64:
            i = i + 4 * part.first[Level.MAB]
        if self.per_address >= 4:
            i = i + part.first[Level.PE]
        l2b = part.first[Level.L2B] if Level.L2B in self.exchange else np.zeros_like(a)
        inner, size = i, self.inside
        if self.l1b_split and Level.L1B in self.exchange:
            b, size = part.first[Level.L1B], self.l2_part
            inner = b * self.inside + i if self.by_blocks else 64 * (i // 8) + 8 * b + i % 8
        if self.via_dram:
            return l2b % 2 * 4 * size + 64 * (inner // 16) + 16 * (l2b // 2) + inner % 16
        return l2b * size + inner
