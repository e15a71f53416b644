"""Sum of a whole value to one scalar, delivered as the DRAM image of a scalar that is broadcast to all PEs.

Every level the value is split over adds one stage: addresses and words in the PE, the four PEs by rotation, then the
reduction circuits of L1BM, L2BM and the MV on the way out.  Levels over which it is broadcast contribute once.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.emit.asm import Asm
from compiler.emit.elementwise import Stream
from compiler.emit.transfer import Route
from compiler.layout.l2b import L2bUse

SUM = "$lr0"
SHIFT_32 = "$ls0"
MASK_ONCE = 5
#: Bits of $l2bid that are zero in the L2Bs that count, where some hold copies.
COUNTED_ONCE = {L2bUse.GROUPS: 1, L2bUse.BANKS: 6}


@dataclass(frozen=True)
class SumJob:
    """`addresses`: long words of the source that hold elements (the rounding of R7 leaves some that do not).

    `word_split`: the two words of a long word are different elements.  `integer`: 32-bit integers, else singles.
    """

    source: Stream
    addresses: tuple[int, ...]
    route: Route
    word_split: bool
    integer: bool
    dram: int


def emit_sum(asm: Asm, job: SumJob) -> None:
    """Write the reduction; the padding of the value must be zero."""
    add, rrn = ("iadd", "iiadd") if job.integer else ("fvadd", "ffadd")
    latch = "$aluf" if job.integer else "$mauf"
    source = job.source
    first = "lpassa" if job.integer else "fvpassa"
    words = [f"$l{source.lm}{source.addr + 2 * lw}" for lw in job.addresses]
    asm.op(f"{first} {words[0]} {SUM if len(words) == 1 else '$nowrite'}")
    for lw, word in enumerate(words[1:], start=1):
        asm.op(f"{add} {latch} {word} {SUM if lw == len(words) - 1 else '$nowrite'}")
    if job.word_split:
        asm.op(f'imm i"32" {SHIFT_32}')
        asm.op(f"lbsl {SUM} {SHIFT_32} $nowrite")
        asm.op(f"{add} $aluf {SUM} {SUM}")
    if job.route.pe_split:
        asm.op(f"msl {SUM} $nowrite")
        asm.op(f"{add} $aluf {SUM} {SUM}")
        asm.op(f"msl {SUM} $nowrite")
        asm.op("msl $aluf $nowrite")
        asm.op(f"{add} $aluf {SUM} {SUM}")
    if job.route.l2b in COUNTED_ONCE:
        asm.op(f'imm i"{COUNTED_ONCE[job.route.l2b]}" {SHIFT_32}')
        asm.op(f"land $l2bid {SHIFT_32} $omr{MASK_ONCE}")
        asm.op(f"lpassa/$imr{MASK_ONCE} {SUM} {SUM}")
    asm.op(f"l1bmr{rrn} {SUM} $lb0" if job.route.mab_split else f"l1bmm@0 {SUM} $lb0")
    asm.op(f"l2bmr{rrn} $lb0 $lc0" if job.route.l1b_split else "l2bm@0 $lb0 $lc0")
    mnemonic = "mvrlbor" if job.route.l2b is L2bUse.COPIED else f"mvr{rrn}"
    asm.wait(asm.mv(mnemonic, 64, f"$lc0 $d{job.dram}"))
