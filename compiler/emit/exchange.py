"""Streams of long words past the PEs (`compiler.switch.feeds`): staging a batch in the buffers, loading slots into LM0.

Below L1BM and L2BM address 4,096 and 16,384 a batch goes up, above it comes down.  L2Bs exchange through DRAM (forms 6
and 8 of isa.md 6.2), which mixes the groups in pieces of 16 long words.  Where that must not be they use the PDM of
group 0 (forms 2 and 7), which keeps the order but passes one L2B at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.emit.asm import MV_MAX, Asm
from compiler.emit.transfer import Route, download, l1_to_l2, pe_to_l1
from compiler.graph.value import DRAM_LWS
from compiler.layout import Level
from compiler.layout.l2b import L2bUse
from compiler.switch.feeds import L1_LIMIT, L2_LIMIT, Feed, Load

RELAY = "$lr0v"
#: DRAM that exchanges pass through: above all values (the address planner stays 10,000,000 long words below the end).
DRAM_BUFFER = DRAM_LWS - 2 * L2_LIMIT


class FeedEmitter:
    """Loads slots of one feed; keeps in mind which batch the buffers hold.

    source: (memory letter, word address) of the value; of a value in DRAM its long-word address and the route it
    takes.  granules: numbers of all load steps that will be asked for.
    """

    def __init__(
        self, asm: Asm, feed: Feed, source: tuple[str, int], granules: Sequence[int], route: Route | None = None
    ) -> None:
        self._asm, self._feed, self._source, self._route = asm, feed, source, route
        self._granules = set(granules)
        self._staged: int | None = None

    def load(self, granule: int, target: int) -> None:
        """The slots of one granule to word address `target` of LM0."""
        feed = self._feed
        if self._route is not None:
            first = granule * feed.load.granule
            end = first + feed.load.granule
            download(self._asm, self._route, self._source[1], "m", target - 2 * first, first, end)
            return
        batch, step = divmod(granule, feed.batch_slots // feed.load.granule)
        if feed.load in (Load.OWN, Load.OWN_ROTATED):
            self._own(4 * step + batch * feed.batch, target)
            return
        if batch != self._staged:
            self._stage(batch)
            self._staged = batch
        address = self._down_base + feed.load.span * step
        if feed.load is Load.ALL:
            self._asm.op(f"l1bmp $llb{address} $llm{target}v")
        elif feed.load is Load.LANES:
            self._asm.op(f"l1bmm $llb{address} $llm{target}v")
        elif feed.load is Load.BLOCKS:
            self._asm.op(f"l1bmd $lb{address} $lm{target}v")
        else:
            self._asm.op(f"l1bmd $lb{address} {RELAY}")
            self._rotations(target)

    @property
    def _through_l2(self) -> bool:
        return bool(self._feed.exchange & {Level.L1B, Level.L2B})

    @property
    def _down_base(self) -> int:
        return L1_LIMIT if self._through_l2 else 0

    def _own(self, first: int, target: int) -> None:
        lm, addr = self._source
        last = self._feed.num_lw - 1
        words = ",".join(str(addr + 2 * min(first + c, last)) for c in range(4))
        if self._feed.load is Load.OWN and lm == "n":
            self._asm.op(f"lpassa $ln[{words}] $lm{target}v")
            return
        self._asm.op(f"lpassa $l{lm}[{words}] {RELAY}")
        if self._feed.load is Load.OWN:
            self._asm.op(f"lpassa {RELAY} $lm{target}v")
        else:
            self._rotations(target)

    def _rotations(self, target: int) -> None:
        """The long words in RELAY, and those of the PEs one, two and three before."""
        self._asm.op(f"lpassa {RELAY} $lm{target}v")
        for turn in range(1, 4):
            self._asm.op(f"msl {RELAY if turn == 1 else '$aluf'} $lm{target + 8 * turn}v")

    def _stage(self, batch: int) -> None:
        feed, asm = self._feed, self._asm
        first = batch * feed.batch
        count = min(feed.batch, feed.num_lw - first)
        mab, pe = feed.per_address == 64, feed.per_address >= 4
        route = Route(count, L2bUse.COPIED, feed.l1b_split, mab, pe)
        pe_to_l1(asm, route, 0, self._source[0], self._source[1] + 2 * first, count)
        if not self._through_l2:
            return
        if feed.by_blocks:
            for b in range(8):
                for k in range(0, feed.inside, 64):
                    asm.op(f"l2bm@{b} $lb{k} $lc{b * feed.inside + k}")
        else:
            l1_to_l2(asm, route, 0, feed.batch)
        down = 0
        if Level.L2B in feed.exchange:
            down = L2_LIMIT
            self._between_l2bs()
        if feed.via_dram and feed.by_blocks:
            self._own_blocks(batch, down)
        elif feed.l1b_split and Level.L1B not in feed.exchange:
            for q in range(8):
                for k in range(0, feed.inside, 32):
                    asm.op(f"l2bmd $lc{down + q * feed.l2_part + 8 * k} $lb{L1_LIMIT + q * feed.inside + k}")
        else:
            for k in self._needed_blocks(batch):
                asm.op(f"l2bmb $lc{down + k} $lb{L1_LIMIT + k}")

    def _own_blocks(self, batch: int, down: int) -> None:
        """To each L1B the long words of its own L1Bs in all L2Bs."""
        feed = self._feed
        needed = set(self._needed_blocks(batch))
        for b in range(8):
            for bank in range(2):
                for k in range(0, 4 * feed.inside, 64):
                    to = bank * 4 * feed.inside + k
                    if to in needed:
                        source = down + bank * 4 * feed.l2_part + 4 * b * feed.inside + k
                        self._asm.op(f"l2bmb@{b} $lc{source} $lb{L1_LIMIT + to}")

    def _between_l2bs(self) -> None:
        """Contents of all L2BMs from L2_LIMIT on in every L2BM."""
        asm, part = self._asm, self._feed.l2_part
        if self._feed.via_dram:
            tags = [asm.mv("mvp", part, f"$lc0@.{bank} $d{DRAM_BUFFER + bank * part}") for bank in range(2)]
            for tag in tags:
                asm.wait(tag)
            for start in range(0, 8 * part, MV_MAX // 64 * 64):
                size = min(MV_MAX // 64 * 64, 8 * part - start)
                asm.wait(asm.mv("mvb", size, f"$d{DRAM_BUFFER + start // 4} $lc{L2_LIMIT + start}"))
            return
        tags = [asm.mv("mvp", part, f"$lc0@{q // 2}.{q % 2} $p{q * part}@0") for q in range(8)]
        for tag in tags:
            asm.wait(tag)
        for start in range(0, 8 * part, MV_MAX // 64 * 64):
            size = min(MV_MAX // 64 * 64, 8 * part - start)
            asm.wait(asm.mv("mvb", size, f"$p{start}@0 $lc{L2_LIMIT + start}"))

    def _needed_blocks(self, batch: int) -> list[int]:
        """First addresses of the 64-word blocks that some load of the batch reads."""
        feed = self._feed
        per_batch = feed.batch_slots // feed.load.granule
        blocks: set[int] = set()
        for granule in self._granules:
            if granule // per_batch == batch:
                start = granule % per_batch * feed.load.span
                blocks.update(range(start // 64 * 64, min(start + feed.load.span, feed.l1_total), 64))
        return sorted(blocks)
