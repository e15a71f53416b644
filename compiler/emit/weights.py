"""Streaming of a weight matrix: DRAM -> L2BM in chunks, L2BM -> L1BM tile by tile, L1BM -> GRF0 -> matrix planes.

A tile is 16 rows in every MAB, 1,024 long words of an L1B.  The rings (two L2BM buffers, four L1BM slots, twelve GRF0
areas, two planes) let transfers run ahead of the products that use them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from compiler.emit.asm import Asm
from compiler.emit.transfer import DOWN, SHARE
from compiler.layout.l2b import L2bUse

L2BM_LWS = 32768
TILE_LW = 1024
CHUNK_TILES = 15
CHUNK_BUFFERS = 2
STARTUP_TILES = 3
L1BM_SLOTS = 4
GRF_AREAS = 12
#: Tiles that L1BM and GRF0 hold while a product waits for its left operand, less those in work.
PARKED_TILES = L1BM_SLOTS + GRF_AREAS - 2


@dataclass(frozen=True)
class DramSource:
    """A value that all L2Bs read at once: alike in all of them, by banks or by groups (isa.md 6.2).

    What is read by groups has its place in L2BM from its address, as if L2BM were a window that moves over DRAM.  So
    what follows each other in DRAM does so in L2BM, and one MV can bring it (`compiler.emit.join_moves`).
    """

    addr: int
    use: L2bUse

    @property
    def placed(self) -> bool:
        """Whether the address in DRAM gives the place in L2BM."""
        return self.use is L2bUse.GROUPS

    def l2bm(self, lw: int) -> int:
        """Where long word `lw` of a placed value lies in L2BM."""
        return (self.addr + lw) % L2BM_LWS

    def fetch(self, asm: Asm, first: int, count: int, l2bm: int) -> list[int]:
        """Move `count` long words of each L2B, from the `first` on, to L2BM; returns the tags.

        l2bm: where to, for a value that is not placed.
        """
        if not self.placed:
            return [asm.mv(DOWN[self.use], count, f"$d{self.addr + first // SHARE[self.use]} $lc{l2bm}")]
        tags = []
        while count:
            part = min(count, L2BM_LWS - self.l2bm(first))
            tags.append(asm.mv(DOWN[self.use], part, f"$d{self.addr + first} $lc{self.l2bm(first)}"))
            first, count = first + part, count - part
        return tags


@dataclass(frozen=True)
class WeightPlan:
    """Where the weight is and how many tiles it has for each L2B; whether it comes before what it multiplies."""

    source: DramSource
    tiles: int
    ahead: bool = False


def chunk_sizes(tiles: int, ahead: bool = False) -> list[int]:
    """Tiles of each transfer: full buffers, the last two such that little is left to do when the last one arrives.

    A tile takes as long to spread over the L1Bs as to arrive, and a transfer starts up for about three tiles more.
    ahead: the first transfer brings what can be spread before there is anything to multiply.
    """
    if ahead:
        return [PARKED_TILES, *chunk_sizes(tiles - PARKED_TILES)] if tiles > PARKED_TILES else [tiles]
    count = -(-tiles // CHUNK_TILES)
    if count < 2:
        return [tiles]
    rest = tiles - CHUNK_TILES * (count - 2)
    last = max(rest - CHUNK_TILES, (rest - STARTUP_TILES) // 2)
    return [CHUNK_TILES] * (count - 2) + [rest - last, last]


class WeightStream:
    """Brings tile after tile into the matrix planes; the rings let transfers run ahead of the products."""

    def __init__(self, asm: Asm, plan: WeightPlan) -> None:
        self._asm = asm
        self._plan = plan
        self._chunks = chunk_sizes(plan.tiles, plan.ahead)
        self._starts = list(itertools.accumulate(self._chunks, initial=0))
        self._place = [(chunk, k) for chunk, size in enumerate(self._chunks) for k in range(size)]
        self._tile = 0
        self._tags: dict[int, list[int]] = {}

    def fetch(self, chunk: int) -> None:
        """Issue the transfer of a chunk, if there is one."""
        if chunk < len(self._chunks):
            self._tags[chunk] = self._plan.source.fetch(
                self._asm, self._starts[chunk] * TILE_LW, self._chunks[chunk] * TILE_LW, self._buffer(chunk)
            )

    def next_tile(self) -> str:
        """Emit the moves of the next tile; returns its plane ("x" or "y")."""
        asm, tile = self._asm, self._tile
        chunk, within = self._place[tile]
        if within == 0:
            for tag in self._tags[chunk]:
                asm.wait(tag)
        l2 = self._buffer(chunk) + within * TILE_LW
        l1 = tile % L1BM_SLOTS * TILE_LW
        source = self._plan.source
        for k in range(0, TILE_LW, 64):
            place = source.l2bm(tile * TILE_LW + k) if source.placed else l2 + k
            asm.op(f"l2bmb $lc{place} $lb{l1 + k}")
        if within == self._chunks[chunk] - 1:
            self.fetch(chunk + CHUNK_BUFFERS)
        plane = "xy"[tile % 2]
        register = tile % GRF_AREAS * 32
        for k in range(4):
            asm.op(f"l1bmd $lb{l1 + 256 * k} $lr{register + 8 * k}v")
        for half in (0, 8):
            asm.op(f"hbfn/9 $llr{register + 2 * half}v $nowrite")
            asm.op(f"hmwrite $aluf $ll{plane}{half}")
        self._tile += 1
        return plane

    def _buffer(self, chunk: int) -> int:
        """L2BM address of a chunk of a weight that is not placed by its address.

        The last one goes to buffer 0 and a product of one chunk to buffer 1, so that a small product behind a large one
        can fetch its weight while the large one still uses its last chunk.
        """
        last = len(self._chunks) - 1
        buffer = (last - chunk) % CHUNK_BUFFERS if last else 1
        return buffer * CHUNK_TILES * TILE_LW
