"""Reductions as straight-line VSM: the elements of each result long word are joined level by level.

Inside a PE over long words, then over the words of a long word by rotating it and over the PEs by `msl` and `msr`; over
all MABs or the lower two bits of their number by the L1BM circuits, over other MABs by shifted exchanges through L1BM;
over L1Bs by `l2bmr`, and back by broadcasts; over L2Bs by `mvr*`, which delivers in DRAM.  Exchanges go from the
highest bit down, so that all members that joined hold the same bits: with a commutative operation both partners of each
exchange compute the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.emit.asm import Asm, cycle_mask, flat
from compiler.emit.transfer import SHARE, Route
from compiler.errors import CompilerError
from compiler.layout import Level
from compiler.layout.folding import Folding

#: Long words of the result that pass through GRF1 and L1BM together: 4,096 long words of L1BM if MABs are split.
CHUNK = 64
SPARE_SETS = 4
PAIRS_R, PAIRS_S = 64, 384
SHIFT_32, SHIFT_16, SHIFT_31, MAGNITUDE, ONE = "$lr0", "$lr2", "$lr4", "$lr6", "$lr40"
MASK_ONCE, MASK_PE, MASK_MAB = 5, 6, 7
L1BM_DOWN = 4096


@dataclass(frozen=True)
class FoldOp:
    """One joining operation.

    load: brings the first element, combine: joins two; both leave their result in `latch`.  normal: MAU pass that
    normalises what the ALU joined, "" where the join does; it also brings the first element, which spares the ALU a
    step.  circuit: operator of the reduction circuits, "" if there is none.  twos: it orders sign-magnitude numbers,
    these are two's complement.
    """

    load: str
    combine: str
    latch: str
    circuit: str
    normal: str = ""
    twos: bool = False


@dataclass(frozen=True)
class Target:
    """Where the result goes: local memory `lm` at word address `addr`; with `lm` empty, DRAM at long word `addr`."""

    lm: str
    addr: int


@dataclass(frozen=True)
class FoldJob:
    """src: memory letter and word address of the operand.  target: None leaves the result in the registers.

    route: how the result travels (asked for DRAM only).  bank: which part of the registers of GRF1 it uses.  packed:
    the result is that of `Folding.packed`.
    """

    op: FoldOp
    folding: Folding
    lanes: int
    src: tuple[str, int]
    target: Target | None
    route: Route
    bank: int = 0
    packed: bool = False

    @property
    def count(self) -> int:
        """Long words of the result."""
        return len(self.folding.tiles) // (2 if self.packed else 1)

    def register(self, group: int) -> str:
        """The register of the group-th four long words of a chunk."""
        return f"$ls{2 * CHUNK * self.bank + 8 * (group % (CHUNK // 4))}v"

    def place(self, group: int, first: int, count: int) -> str:
        """Destination of a group of a chunk that starts at result long word `first` and has `count` of them."""
        if self.target is None:
            return self.register(group)
        mask = cycle_mask(count - 4 * group)
        return f"$l{self.target.lm}{self.target.addr + 2 * (first + 4 * group)}v{mask}"

    @property
    def to_dram(self) -> bool:
        """Whether the last MV delivers the result."""
        return self.target is not None and not self.target.lm

    @property
    def per_address(self) -> int:
        """Long words of an L1B for each long word of the result above the MABs."""
        if self.mabs_split:
            return 64
        return 1 if self.transposed else 4

    @property
    def quick(self) -> bool:
        """Whether the stages inside a MAB go through latches: the MAU joins, and all rows go together."""
        return self.folding.few and self.op.latch == "$mauf"

    @property
    def mabs_split(self) -> bool:
        """Whether MABs hold different data after they were joined."""
        return self.folding.bits[Level.MAB] | self.folding.copies[Level.MAB] != 15

    @property
    def transposed(self) -> bool:
        """Whether four long words go to the PEs of a row, as the DRAM image of a value alike in all PEs wants it."""
        return self.to_dram and self.route.per_address == 1

    @property
    def above(self) -> bool:
        """Whether the reduction leaves the MAB."""
        return any(self.folding.bits[level] for level in (Level.MAB, Level.L1B, Level.L2B))

    @property
    def zeroes_copies(self) -> bool:
        """Whether the MV would count copies, so that all but one are made zero before (extremes do not mind)."""
        return bool(self.folding.counted_once) and self.op.circuit.endswith("add")

    @property
    def flips(self) -> bool:
        """Whether elements are turned into sign-magnitude numbers for a circuit."""
        bits = self.folding.bits
        return self.op.twos and bool(bits[Level.L1B] or bits[Level.L2B] or bits[Level.MAB] in (3, 15))


def emit_fold(asm: Asm, job: FoldJob) -> None:
    """Write the reduction; the padding of the operand must hold the unit of the operation."""
    if job.to_dram != (job.folding.l2b_move is not None):
        raise CompilerError("a reduction delivers in DRAM if and only if it joins L2Bs")
    fold_constants(asm, job)
    for first, count in chunks(job):
        for group in range(-(-count // 4)):
            last = job.register(group) if job.above else job.place(group, first, count)
            if job.quick and job.packed:
                rows = cycle_mask(len(job.folding.tiles))
                last = last.split("/")[0].replace("$l", "$") + ("" if job.above else rows)
            emit_steps(asm, inside(job, first + 4 * group, group), last)
        if job.above:
            emit_above(asm, job, first, count)


def chunks(job: FoldJob) -> list[tuple[int, int]]:
    """(first result long word, count) of what passes through the registers together."""
    most = min(CHUNK, job.route.chunk) if job.to_dram else CHUNK
    total = job.count
    return [(first, min(most, total - first)) for first in range(0, total, most)]


def emit_steps(asm: Asm, steps: Sequence[tuple[str, str]], last: str) -> None:
    """Items with their destinations; the last one goes to `last`."""
    for number, (text, where) in enumerate(steps):
        asm.op(f"{text} {last if number == len(steps) - 1 else where}")


def fold_constants(asm: Asm, job: FoldJob) -> None:
    """Shift counts and masks of the whole reduction."""
    bits = job.folding.bits
    halves = job.lanes == 4 and bits[Level.W] & 1
    if bits[Level.W] & (1 if job.lanes == 2 else 2):
        asm.op(f'imm i"32" {SHIFT_32}')
    if halves:
        asm.op(f'imm i"16" {SHIFT_16}')
    if job.flips:
        asm.op(f'imm i"31" {SHIFT_31}')
        asm.op(f'imm i"0x7FFFFFFF" {MAGNITUDE}')
    if bits[Level.PE] == 1:
        asm.op(f'imm i"1" {ONE}')
        asm.op(f"iand $subpeid {ONE} $omr{MASK_PE}")
    if job.zeroes_copies:
        asm.op(f'imm i"{job.folding.counted_once}" {ONE}')
        asm.op(f"land $l2bid {ONE} $omr{MASK_ONCE}")


# -- inside the PEs of a MAB -------------------------------------------------------------------------------------------


def _spare(group: int) -> str:
    return f"$lr{8 + 8 * (group % SPARE_SETS)}v"


def inside(job: FoldJob, first: int, group: int) -> list[tuple[str, str]]:
    """Items that join four result long words from `first` on inside a MAB, with their destinations."""
    if job.quick:
        return _in_latches(job, first, job.register(group))
    if job.packed:
        acc = job.register(group)
        rest = _over_pes(job, acc, _spare(group)) or [(f"lpassa {acc}", acc)]
        return [*_packed_tiles(job, first, group), *rest]
    return [*_over_tiles(job, first, job.register(group)), *inside_mab(job, group)]


def inside_mab(job: FoldJob, group: int) -> list[tuple[str, str]]:
    """The same for what lies in the group's register already."""
    acc = job.register(group)
    return [*_over_words(job, acc), *_over_pes(job, acc, _spare(group))]


def _over_tiles(job: FoldJob, first: int, acc: str) -> list[tuple[str, str]]:
    op, (lm, addr) = job.op, job.src
    rows = [job.folding.tiles[min(first + c, len(job.folding.tiles) - 1)] for c in range(4)]
    sources = [f"$l{lm}{flat([addr + 2 * lw for lw in lws])}" for lws in zip(*rows, strict=True)]
    if len(sources) == 1:
        return [(f"{op.normal or op.load} {sources[0]}", acc)]
    steps = [f"{op.normal or op.load} {sources[0]}"]
    for source in sources[1:]:
        latch = "$mauf" if op.normal and len(steps) == 1 else op.latch
        steps.append(f"{op.combine} {latch} {source}")
    if op.normal:
        steps.append(f"{op.normal} {op.latch}")
    return [*((text, "$nowrite") for text in steps[:-1]), (steps[-1], acc)]


def _in_latches(job: FoldJob, first: int, acc: str) -> list[tuple[str, str]]:
    """All stages through the forwarding latches, for results so few that lines would wait for registers.

    While the ALU moves a copy, the MAU passes the value on to itself.
    """
    start = _over_tiles(job, first, acc)
    steps = [*start[:-1], (start[-1][0], "$nowrite")]
    hold = f"$nowrite; {job.op.load} $mauf $nowrite"
    bits = job.folding.bits
    turns = [["msl $mauf", "msl $aluf"]] * (bits[Level.PE] >> 1) + [["msl $mauf"]] * (bits[Level.PE] & 1)
    turns += [[f"lbsl $mauf {SHIFT_32}"]] * bits[Level.W]
    for turn in turns:
        steps += [(text, hold) for text in turn]
        steps.append((f"{job.op.combine} $aluf $mauf", "$nowrite"))
    return steps


def _packed_tiles(job: FoldJob, first: int, group: int) -> list[tuple[str, str]]:
    """Eight rows, four at a time into both GRFs; then the first words of one meet the second words of the other."""
    steps = []
    slot = 16 * (group % SPARE_SETS)
    result = int(job.register(group)[3:-1])
    for half in (0, 1):
        left, right = PAIRS_S + slot + 8 * half, PAIRS_R + slot + 8 * half
        steps += _over_tiles(job, 2 * first + 4 * half, f"$ls{left}v $lr{right}v")
        steps.append((f"{job.op.combine} $s{left}v2 $r{right + 1}v2", f"$s{result + 4 * half}v1"))
    return steps


def _over_words(job: FoldJob, acc: str) -> list[tuple[str, str]]:
    bits, steps = job.folding.bits[Level.W], []
    turns = {2: [(1, f"lbsl {acc} {SHIFT_32}")], 4: [(2, f"lbsl {acc} {SHIFT_32}"), (1, f"ibsl {acc} {SHIFT_16}")]}
    for bit, turn in turns.get(job.lanes, []):
        if bits & bit:
            steps += [(turn, "$nowrite"), (f"{job.op.combine} $aluf {acc}", acc)]
    return steps


def _over_pes(job: FoldJob, acc: str, spare: str) -> list[tuple[str, str]]:
    bits, join = job.folding.bits[Level.PE], (f"{job.op.combine} $aluf {acc}", acc)
    if bits == 1:
        swapped = [(f"msl {acc}", spare), (f"msr {acc}", f"{spare}/$imr{MASK_PE}")]
        return [*swapped, (f"{job.op.combine} {spare} {acc}", acc)]
    steps = []
    if bits & 2:
        steps += [(f"msl {acc}", "$nowrite"), ("msl $aluf", "$nowrite"), join]
    if bits & 1:
        steps += [(f"msl {acc}", "$nowrite"), join]
    return steps


# -- above -------------------------------------------------------------------------------------------------------------


def emit_above(asm: Asm, job: FoldJob, first: int, count: int) -> None:
    """Join a chunk over MABs, L1Bs and L2Bs, from the registers to its target."""
    groups = range(-(-count // 4))
    for group in groups:
        acc = job.register(group)
        if job.flips:
            _flip(asm, acc, acc)
        if job.zeroes_copies:
            asm.op(f"lpassa/$imr{MASK_ONCE} {acc} {acc}")
    mabs = job.folding.bits[Level.MAB]
    higher = bool(job.folding.bits[Level.L1B] or job.folding.bits[Level.L2B])
    if mabs == 3:
        for group in groups:
            asm.op(f"l1bmr4{job.op.circuit} {job.register(group)} $lb{64 * group}")
            _deliver(asm, job, group, first, count, f"l1bmm4 $lb{64 * group}", stay=higher)
    elif mabs not in (0, 15):
        _over_mabs(asm, job, groups, mabs)
        if not higher and job.target is not None:
            for group in groups:
                asm.op(f"lpassa {job.register(group)} {job.place(group, first, count)}")
    if higher:
        _to_l1bm(asm, job, groups)
        _over_l1bs(asm, job, first, count)
    elif mabs == 15:
        for group in groups:
            asm.op(f"l1bmr{job.op.circuit} {job.register(group)} $lb{16 * group}")
            _deliver(asm, job, group, first, count, f"l1bmm $lb{16 * group}")


def _flip(asm: Asm, source: str, target: str) -> None:
    """Two's complement <-> the sign-magnitude number of the same order; its own inverse."""
    asm.op(f"ilsr {source} {SHIFT_31} $nowrite")
    asm.op(f"iand $aluf {MAGNITUDE} $nowrite")
    asm.op(f"ixor $aluf {source} {target}")


def _deliver(asm: Asm, job: FoldJob, group: int, first: int, count: int, load: str, *, stay: bool = False) -> None:
    """From L1BM to the target, or back to the registers with `stay`."""
    if stay or job.flips:
        asm.op(f"{load} {job.register(group)}")
        if not stay:
            _flip(asm, job.register(group), job.place(group, first, count))
    else:
        asm.op(f"{load} {job.place(group, first, count)}")


def _over_mabs(asm: Asm, job: FoldJob, groups: Sequence[int], bits: int) -> None:
    """Exchanges with the MAB whose number differs in one bit: the shifted block from above or from below."""
    for step in (8, 4, 2, 1):
        if not bits & step:
            continue
        asm.op(f'imm i"{step}" {ONE}')
        asm.op(f"iand $mabid {ONE} $omr{MASK_MAB}")
        for group in groups:
            acc, spare, l1 = job.register(group), _spare(group), 256 * (group % SPARE_SETS)
            asm.op(f"l1bmd {acc} $lb{l1}")
            asm.op(f"l1bmd+{step} $lb{l1} {spare}")
            asm.op(f"l1bmd-{step} $lb{l1} {spare}/$imr{MASK_MAB}")
            asm.op(f"{job.op.combine} {spare} {acc} {acc}")


def _to_l1bm(asm: Asm, job: FoldJob, groups: Sequence[int]) -> None:
    """Registers -> L1BM in the order of the DRAM image, joined over all MABs if they are reduced."""
    take = f"l1bmr{job.op.circuit}" if job.folding.bits[Level.MAB] == 15 else "l1bmm@0"
    for group in groups:
        if job.mabs_split:
            asm.op(f"l1bmd {job.register(group)} $lb{256 * group}")
        elif not job.transposed:
            asm.op(f"{take} {job.register(group)} $lb{16 * group}")
        elif job.count == 1:
            asm.op(f"{take} {job.register(group)} $lb0")
        else:
            # Row p of the transposed block is what all PEs held in cycle p; the surplus rows are overwritten by
            # the next step or lie behind the end.
            asm.op(f"dmwrite {job.register(group)} $lx0")
            asm.op(f"dmread $lx0 {_spare(group)}")
            asm.op(f"{take} {_spare(group)[:-1]} $lb{4 * group}")


def _over_l1bs(asm: Asm, job: FoldJob, first: int, count: int) -> None:
    """L1BM -> L2BM, joined over L1Bs, and on to DRAM or back down."""
    total = count * job.per_address
    size = -(-total // 64) * 64
    sets = job.folding.l1b_sets
    whole = len(sets) == 1
    for number, part in enumerate(sets):
        at = "" if part.joined == 7 else f"@{part.first}/{part.joined}"
        for k in range(0, total, 64):
            asm.op(f"l2bmr{job.op.circuit}{at} $lb{k} $lc{number * size + k}")
    l1 = 0
    if sets and not (whole and job.to_dram):
        l1 = L1BM_DOWN
        for number, part in enumerate(sets):
            at = "" if part.back == 7 else f"@{part.first}/{part.back}"
            for k in range(0, total, 64):
                asm.op(f"l2bmb{at} $lc{number * size + k} $lb{l1 + k}")
    if job.to_dram:
        if not whole:
            _gather_l1bs(asm, job, l1, total)
        _to_dram(asm, job, first, count)
        return
    for group in range(-(-count // 4)):
        load = f"l1bmd $lb{l1 + 256 * group}" if job.mabs_split else f"l1bmm $lb{l1 + 16 * group}"
        _deliver(asm, job, group, first, count, load)


def _gather_l1bs(asm: Asm, job: FoldJob, l1: int, total: int) -> None:
    if job.route.l1b_split:
        for k in range(0, total, 32):
            asm.op(f"l2bmd $lb{l1 + k} $lc{8 * k}")
    else:
        for k in range(0, total, 64):
            asm.op(f"l2bm@0 $lb{l1 + k} $lc{k}")


def _to_dram(asm: Asm, job: FoldJob, first: int, count: int) -> None:
    assert job.target is not None
    route = job.route
    skip = route.l2_count(first) if first else 0
    move = f"{job.folding.l2b_move}{job.op.circuit}"
    asm.wait(asm.mv(move, route.l2_count(count), f"$lc0 $d{job.target.addr + skip // SHARE[route.l2b]}"))
