"""Block-float conversions across the four PEs of a MAB (isa.md 11.6, numerics.md 5)."""

from __future__ import annotations

from hw.kernels.abi import Kernel
from isa.instructions.slots import ALU_X, RESULTS, note_narrowing, typed
from isa.lower.compute import lower_block
from isa.lower.kernels import table_entry
from isa.record import Group, Record, Variant
from isa.suffix import Suffix

_NO_FLAGS = "accepted, always 0"


def _full(variant: Variant) -> Kernel:
    return table_entry("bfn", "BFN", (variant.prec, 0, False))


def _half(variant: Variant) -> Kernel:
    return table_entry("bfn", "BFN", ("h", 9, False))


def _extended(variant: Variant) -> Kernel:
    return table_entry("bfn", "BFN", ("h", 9, True))


# The official assembler takes no zero flush on the conversions without a length (isa.md 19) and `u` on all but `g`.
BFN = Record(
    name="bfn",
    title="block-float conversion of doubles, singles, pseudo singles",
    group=Group.ALU,
    mnemonics=typed("bfn", "df") | typed("bfn", "g", unsigned=(False,)),
    slots=(ALU_X, RESULTS),
    meaning="elements of the block share the largest exponent; LW1 = 0",
    example="gbfn $lr0v $ls0v",
    source="isa.md 11.6, numerics.md 5",
    lower=lower_block,
    kernel=_full,
    flags=_NO_FLAGS,
    note=note_narrowing,
)

HBFN = Record(
    name="hbfn",
    title="block-float conversion of halves with a mantissa of 6..9 bits",
    group=Group.ALU,
    mnemonics=typed("bfn", "h"),
    slots=(ALU_X, RESULTS),
    meaning="elements of the block share the largest exponent; both LWs are converted",
    example="hbfn/9 $llr0v $lls0v",
    source="isa.md 11.6, numerics.md 5",
    lower=lower_block,
    kernel=_half,
    suffix=Suffix.LENGTH,
    zero_flush=True,
    flags=_NO_FLAGS,
)

HBFE = Record(
    name="bfe",
    title="extended block-float conversion of halves: small elements keep an own scale",
    group=Group.ALU,
    mnemonics=typed("bfe", "h"),
    slots=(ALU_X, RESULTS),
    meaning="as hbfn, elements far below the largest get exponent 0 and a wider range",
    example="hbfe/8 $llr0v $lls0v",
    source="isa.md 11.6, numerics.md 5",
    lower=lower_block,
    kernel=_extended,
    suffix=Suffix.LENGTH,
    zero_flush=True,
    flags=_NO_FLAGS,
)

RECORDS = (BFN, HBFN, HBFE)
