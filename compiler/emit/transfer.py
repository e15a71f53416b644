"""Download (DRAM -> LM) and Upload (LM -> DRAM) of a whole value, for every complete layout.

The order of long words in DRAM, L2BM and L1BM is that of `compiler.layout.image`, chosen so that each stage is one
kind of instruction.  With i the index inside an L1B and j inside an L2B (isa.md 7.3, 8.2):

| levels            | L1BM <-> PE                           | L2BM <-> L1BM      | DRAM <-> L2BM             |
|-------------------|---------------------------------------|--------------------|---------------------------|
| MAB split         | `l1bmd` (i = 64a + 4m + p)            |                    |                           |
| only PE split     | `l1bmm` / `l1bmm@0` (i = 4a + p)      |                    |                           |
| both broadcast    | `l1bmp` / transpose + `l1bmm@0` (i=a) |                    |                           |
| L1B split         |                                       | `l2bmd`            |                           |
| L1B broadcast     |                                       | `l2bmb` / `l2bm@0` |                           |
| L2B split         |                                       |                    | `mvp` parallel, per bank  |
| L2B copied        |                                       |                    | `mvb` / `mvrlbor`         |
| groups split      |                                       |                    | `mvb2` / `mvp` of bank 0  |
| banks split       |                                       |                    | `mvb4` / `mvr4lbor`       |
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from compiler.emit.asm import MV_MAX, MV_UNIT, Asm, cycle_mask, flat, round_up
from compiler.errors import DoesNotFit
from compiler.layout import Level, PadLayout
from compiler.layout.l2b import L2bUse, l2b_use

L1BM_CHUNK = 2048
L2BM_CHUNK = 8192
L2BM_HALF = 16384
L1BM_HALF = 4096
#: Long words that arrive while a transfer starts up: 200 cycles at 16 a cycle (timing.md 3.1, 5.2).
START_LW = 3200
DOWN = {L2bUse.SPLIT: "mvp", L2bUse.COPIED: "mvb", L2bUse.GROUPS: "mvb2", L2bUse.BANKS: "mvb4"}
LOAD = {64: "l1bmd", 4: "l1bmm", 1: "l1bmp"}
UP = {L2bUse.SPLIT: "mvp", L2bUse.COPIED: "mvrlbor", L2bUse.GROUPS: "mvp", L2bUse.BANKS: "mvr4lbor"}
#: Mask entry: one where a value that several L2Bs hold is counted.
MASK_ONCE = 2
#: Long words of an L2B for each long word of one DRAM.
SHARE = {L2bUse.COPIED: 4, L2bUse.GROUPS: 1, L2bUse.BANKS: 2}


@dataclass(frozen=True)
class Route:
    """How a layout travels: which levels are split, and its long words per PE."""

    num_lw: int
    l2b: L2bUse
    l1b_split: bool
    mab_split: bool
    pe_split: bool

    @classmethod
    def of(cls, layout: PadLayout) -> Route:
        """Route of a complete layout."""
        spec = layout.layout
        return cls(
            num_lw=layout.num_lw,
            l2b=l2b_use(spec),
            l1b_split=not spec.is_broadcast(Level.L1B),
            mab_split=not spec.is_broadcast(Level.MAB),
            pe_split=not spec.is_broadcast(Level.PE),
        )

    @property
    def per_address(self) -> int:
        """Long words of an L1B per LM address."""
        return 64 if self.mab_split else 4 if self.pe_split else 1

    def l2_count(self, addresses: int) -> int:
        """Long words of an L2B for `addresses` LM addresses, rounded up to the MV unit."""
        count = addresses * self.per_address
        return round_up(8 * round_up(count, 8) if self.l1b_split else count, MV_UNIT)

    @property
    def chunk(self) -> int:
        """LM addresses moved at a time, bounded by the buffers used here."""
        by_l1 = L1BM_CHUNK // self.per_address
        by_l2 = L2BM_CHUNK // (self.per_address * (8 if self.l1b_split else 1))
        return max(32, min(by_l1, by_l2) // 32 * 32)

    def ranges(self, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
        """(first address, count) of every chunk of the addresses from `start` on, to `end` or the last one."""
        end = self.num_lw if end is None else min(end, self.num_lw)
        return [(a, min(self.chunk, end - a)) for a in range(start, end, self.chunk)]

    def pieces(self, start: int = 0, end: int | None = None) -> list[list[tuple[int, int]]]:
        """The ranges that one MV of a download brings: as many as half of L2BM holds.

        What all L1Bs get alike leaves L2BM no faster than it arrives.  So of the last two pieces the second is the
        smaller one, by what leaves while its transfer starts up.
        """
        ranges = self.ranges(start, end)
        each = self.l2_count(self.chunk)
        most = max(1, L2BM_HALF // each)
        sizes = [most] * (len(ranges) // most) + [len(ranges) % most] * (len(ranges) % most > 0)
        if not self.l1b_split and (rest := sum(sizes[-2:])) * each > 2 * START_LW:
            last = max(rest - most, (rest - START_LW // each) // 2, 1)
            sizes[-2:] = [rest - last, last]
        starts = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
        return [ranges[a:b] for a, b in itertools.pairwise(starts)]


def download(
    asm: Asm, route: Route, dram: int, lm: str, addr: int, start: int = 0, end: int | None = None
) -> None:
    """DRAM image at `dram` -> local memory `lm` ("m" or "n") from word address `addr` on; chunks overlap their MVs.

    start, end: only these addresses of the value; `start` a multiple of 64.

    The upper half of L2BM comes first: a matrix product that follows fills the lower one first, so its transfer need
    not wait.
    """
    pieces = [(part, part[0][0], sum(count for _, count in part)) for part in route.pieces(start, end)]
    pending = [_dram_to_l2(asm, route, dram, 1, *pieces[0][1:])]
    number = 0
    for k, (part, begin, _) in enumerate(pieces):
        if k + 1 < len(pieces):
            pending.append(_dram_to_l2(asm, route, dram, k % 2, *pieces[k + 1][1:]))
        for tag in pending[k]:
            asm.wait(tag)
        for first, count in part:
            l2 = (k + 1) % 2 * L2BM_HALF + (route.l2_count(first - begin) if first > begin else 0)
            number += 1
            l2_to_l1(asm, route, l2, number % 2, count)
            l1_to_pe(asm, route, number % 2, lm, addr + 2 * first, count)


def upload(asm: Asm, route: Route, lm: str, addr: int, dram: int, half: int = 0) -> None:
    """Local memory -> DRAM image; returns with all transfers completed.

    half: the half of the buffers that is filled first; where uploads that follow each other take turns, the second is
    gathered while the first is on its way.
    """
    pending: list[list[int]] = []
    for k, (first, count) in enumerate(route.ranges()):
        if k >= 2:
            for tag in pending[k - 2]:
                asm.wait(tag)
        buffer = (k + half) % 2
        pe_to_l1(asm, route, buffer, lm, addr + 2 * first, count)
        l1_to_l2(asm, route, buffer, count)
        pending.append(_l2_to_dram(asm, route, dram, buffer, first, count))
    asm.wait_all()


def _moves(route: Route, dram: int, first: int, count: int) -> list[tuple[str, int, int]]:
    """(bank suffix, DRAM address, size) of the MVs of a chunk."""
    size, skip = route.l2_count(count), route.l2_count(first) if first else 0
    if size > MV_MAX:
        raise DoesNotFit(f"a transfer of {size} long words exceeds one MV of {MV_MAX}")
    if route.l2b is L2bUse.SPLIT:
        total = route.l2_count(route.num_lw)
        return [(f"@.{bank}", dram + bank * total + skip, size) for bank in (0, 1)]
    return [("", dram + skip // SHARE[route.l2b], size)]


def _dram_to_l2(asm: Asm, route: Route, dram: int, half: int, first: int, count: int) -> list[int]:
    buffer = half * L2BM_HALF
    moves = _moves(route, dram, first, count)
    return [asm.mv(DOWN[route.l2b], size, f"$d{src} $lc{buffer}{bank}") for bank, src, size in moves]


def _l2_to_dram(asm: Asm, route: Route, dram: int, half: int, first: int, count: int) -> list[int]:
    buffer = half * L2BM_HALF
    bank0 = "@.0" if route.l2b is L2bUse.GROUPS else ""
    moves = _moves(route, dram, first, count)
    return [asm.mv(UP[route.l2b], size, f"$lc{buffer}{bank or bank0} $d{dst}") for bank, dst, size in moves]


def l2_to_l1(asm: Asm, route: Route, l2: int, half: int, count: int) -> None:
    """What `count` addresses of every PE get, from long word `l2` of L2BM to half `half` of L1BM."""
    l1, total = half * L1BM_HALF, count * route.per_address
    if route.l1b_split:
        for k in range(round_up(total, 32) // 32):
            asm.op(f"l2bmd $lc{l2 + 256 * k} $lb{l1 + 32 * k}")
    else:
        for k in range(round_up(total, 64) // 64):
            asm.op(f"l2bmb $lc{l2 + 64 * k} $lb{l1 + 64 * k}")


def l1_to_l2(asm: Asm, route: Route, half: int, count: int, l2: int | None = None) -> None:
    """`count` addresses of every PE from half `half` of L1BM to that half of L2BM, or to where `l2` says."""
    l2 = half * L2BM_HALF if l2 is None else l2
    l1, total = half * L1BM_HALF, count * route.per_address
    if route.l1b_split:
        for k in range(round_up(total, 32) // 32):
            asm.op(f"l2bmd $lb{l1 + 32 * k} $lc{l2 + 256 * k}")
    else:
        for k in range(round_up(total, 64) // 64):
            asm.op(f"l2bm@0 $lb{l1 + 64 * k} $lc{l2 + 64 * k}")


def l1_to_pe(asm: Asm, route: Route, half: int, lm: str, addr: int, count: int) -> None:
    """`count` addresses of every PE from half `half` of L1BM to word address `addr` on."""
    l1 = half * L1BM_HALF
    if route.mab_split:
        for k in range(0, count, 4):
            asm.op(f"l1bmd $lb{l1 + 64 * k} $l{lm}{addr + 2 * k}v{cycle_mask(count - k)}")
    elif route.pe_split and _in_pairs(addr, count):
        for k in range(0, count, 8):
            mask = cycle_mask((count - k) // 2, wide=True)
            asm.op(f"l1bmm $llb{l1 + 4 * k} $ll{lm}{addr + 2 * k}v{mask}")
    elif route.pe_split:
        for k in range(0, count, 4):
            asm.op(f"l1bmm $lb{l1 + 4 * k} $l{lm}{addr + 2 * k}v{cycle_mask(count - k)}")
    else:
        for k in range(0, count, 4):
            asm.op(f"l1bmp $lb{l1 + k} $l{lm}{addr + 2 * k}v{cycle_mask(count - k)}")


def _in_pairs(addr: int, count: int) -> bool:
    """Whether long words from word address `addr` on can move two a cycle, which keeps the order of the image."""
    return addr % 4 == 0 and count % 2 == 0


def pe_to_l1(asm: Asm, route: Route, half: int, lm: str, addr: int, count: int) -> None:
    """`count` long words of every PE from word address `addr` on to half `half` of L1BM, in the order of the image."""
    l1 = half * L1BM_HALF
    if route.pe_split and not route.mab_split and _in_pairs(addr, count):
        for k in range(0, count, 8):
            pairs = [addr + 2 * min(k + 2 * c, count - 2) for c in range(4)]
            asm.op(f"l1bmm@0 $ll{lm}{flat(pairs)} $llb{l1 + 4 * k}")
        return
    for k in range(0, count, 4):
        cycles = [addr + 2 * min(k + c, count - 1) for c in range(4)]
        source = f"$l{lm}[{cycles[0]},{cycles[1]},{cycles[2]},{cycles[3]}]"
        if route.mab_split:
            asm.op(f"l1bmd {source} $lb{l1 + 64 * k}")
        elif route.pe_split:
            asm.op(f"l1bmm@0 {source} $lb{l1 + 4 * k}")
        else:
            # All PEs hold the same long word of cycle c; the transpose gives PE p that of cycle p, so that one row
            # of L1BM holds four consecutive addresses.  The three surplus rows are overwritten by the next step or
            # lie in the scratch.
            asm.op(f"dmwrite {source} $lx0")
            asm.op("dmread $lx0 $lr0v")
            asm.op(f"l1bmm@0 $lr0 $lb{l1 + k}")


def download_to_both_banks(
    asm: Asm, route: Route, dram: int, lm: str, addr: int, places: Callable[[int, int], int], count: int
) -> None:
    """DRAM image of a value split over all L2Bs -> local memory, each L2B getting the parts of both banks of its group.

    `places(bank, a)` is the long word that address a (below `count`) of a bank's part goes to.  Raises DoesNotFit when
    both parts exceed the buffers used here.
    """
    step, size, load = (32, 256, "l2bmd") if route.l1b_split else (64, 64, "l2bmb")
    inside = round_up(route.per_address * route.num_lw, step)
    part = route.l2_count(route.num_lw)
    if 2 * part > L2BM_HALF or 2 * inside > L1BM_HALF:
        raise DoesNotFit(f"both banks' parts of {part} long words exceed the buffer of {L2BM_HALF}")
    asm.wait(asm.mv("mvb2", 2 * part, f"$d{dram} $lc{L2BM_HALF}"))
    for bank in (0, 1):
        l1 = L1BM_HALF + bank * inside
        for k in range(inside // step):
            asm.op(f"{load} $lc{L2BM_HALF + bank * part + size * k} $lb{l1 + step * k}")
        for k in range(0, count, 4):
            group = [addr + 2 * places(bank, a) for a in range(k, min(k + 4, count))]
            target = f"$l{lm}{flat(group + group[-1:] * (4 - len(group)))}{cycle_mask(len(group))}"
            asm.op(f"{LOAD[route.per_address]} $lb{l1 + route.per_address * k} {target}")


def add_up(asm: Asm, route: Route, source: tuple[str, int], target: tuple[str, int], prec: str) -> None:
    """Sum over the L1Bs of a value that is alike in none of them, back into local memory.

    route: of the sum, whose L1Bs are alike.  source, target: (memory letter, word address).  prec: "h" or "f".
    """
    for first, count in route.ranges():
        pe_to_l1(asm, route, 0, source[0], source[1] + 2 * first, count)
        _sum_l1(asm, route, 0, count, prec)
        l2_to_l1(asm, route, 0, 0, count)
        l1_to_pe(asm, route, 0, target[0], target[1] + 2 * first, count)


def add_up_to_dram(asm: Asm, route: Route, source: tuple[str, int], dram: int, prec: str, *, levels: str) -> None:
    """Sum of a value over L2Bs, and over L1Bs where `levels` says so, as the DRAM image of the sum.

    levels: letters of groups, banks, L1Bs: "K" where the parts are added (at least one of the first two is), "-" where
    they are alike.
    """
    pair = "".join("K" if letter in "K-" else "s" for letter in levels[:2])
    form = {"KK": "mvr", "Ks": "mvr4", "sK": "mvr2"}[pair]
    if "-" in levels[:2]:
        _clear_copies(asm, source, route.num_lw, 6 if levels[0] == "-" else 1)
    for k, (first, count) in enumerate(route.ranges()):
        pe_to_l1(asm, route, k % 2, source[0], source[1] + 2 * first, count)
        if levels[2] == "K":
            _sum_l1(asm, route, k % 2, count, prec)
        else:
            l1_to_l2(asm, route, k % 2, count)
        for _, place, size in _moves(route, dram, first, count):
            asm.mv(f"{form}{prec}fadd", size, f"$lc{k % 2 * L2BM_HALF} $d{place}")
    asm.wait_all()


def _clear_copies(asm: Asm, place: tuple[str, int], count: int, bits: int) -> None:
    """Zero a value in local memory in all L2Bs but those whose number has none of `bits`: copies count once."""
    asm.op(f'imm i"{bits}" $ls0')
    asm.op(f"land $l2bid $ls0 $omr{MASK_ONCE}")
    for k in range(0, count, 4):
        cycles = [place[1] + 2 * min(k + c, count - 1) for c in range(4)]
        asm.op(f"lpassa/$imr{MASK_ONCE} $l{place[0]}{flat(cycles)} $l{place[0]}{flat(cycles)}")


def _sum_l1(asm: Asm, route: Route, half: int, count: int, prec: str) -> None:
    l2, l1 = half * L2BM_HALF, half * L1BM_HALF
    for k in range(round_up(count * route.per_address, 64) // 64):
        asm.op(f"l2bmr{prec}fadd $lb{l1 + 64 * k} $lc{l2 + 64 * k}")
