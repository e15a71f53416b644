"""Untyped ALU operations: constants and the exchange between neighbouring PEs (isa.md 2.4, 11.2)."""

from __future__ import annotations

from collections.abc import Callable

from hw.kernels.abi import Kernel
from isa.instructions.slots import ALU_X, RESULTS, note_narrowing, untyped
from isa.lower.compute import lower_alu
from isa.lower.kernels import table_entry
from isa.operand import Kind
from isa.record import Group, Record, Slot, Variant

_NO_FLAGS = "accepted, always 0"
_LITERAL = Slot("literal", frozenset({Kind.IMM}))


def _lookup(name: str) -> Callable[[Variant], Kernel]:
    return lambda variant: table_entry("alu_misc", name)


ZERO = Record(
    name="zero",
    title="zero in all four words",
    group=Group.ALU,
    mnemonics=untyped("zero"),
    slots=(RESULTS,),
    meaning="0",
    example="zero $llr0v",
    source="isa.md 11.2",
    lower=lower_alu,
    kernel=_lookup("ZERO"),
    zero_flush=True,
    flags=_NO_FLAGS,
)

IMM = Record(
    name="imm",
    title="immediate; `imm` fills all four words, `immu` the words w0 and w2",
    group=Group.ALU,
    # The immediate shares its field of the instruction word with the LM0 addresses (isa.md 5.3).
    mnemonics={"imm": Variant(), "immu": Variant(half="u")},
    slots=(_LITERAL, Slot("dst", RESULTS.kinds - {Kind.LM0, Kind.BAR0}, many=True)),
    meaning="the literal's 32 bits",
    example='imm f"1.0" $lr0v',
    source="isa.md 2.4, numerics.md 10",
    lower=lower_alu,
    kernel=_lookup("IMM"),
    zero_flush=True,
    flags=_NO_FLAGS,
)


def _neighbour(name: str, title: str, meaning: str) -> Record:
    return Record(
        name=name,
        title=title,
        group=Group.ALU,
        mnemonics=untyped(name),
        slots=(ALU_X, RESULTS),
        meaning=meaning,
        example=f"{name} $lr0v $ls0v",
        source="isa.md 11.2",
        lower=lower_alu,
        kernel=_lookup(name.upper()),
        zero_flush=True,
        flags=_NO_FLAGS,
        note=note_narrowing,
    )


RECORDS = (
    ZERO,
    IMM,
    _neighbour("msl", "value of the PE to the left", "LW0 of PE (p-1) mod 4; LW1 = 0"),
    _neighbour("msr", "value of the PE to the right", "LW0 of PE (p+1) mod 4; LW1 = 0"),
)
