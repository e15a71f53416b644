"""The instruction record: everything about one instruction, declared once (design.md 5).

Parser, checks, lowering, reference page, random items and the coverage table are derived from these records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from hw.kernels.abi import Kernel
from hw.program import Item, Mv
from hw.value import value
from isa.operand import Kind, MaskExpr, Operand, PeOperand
from isa.suffix import Suffix, SuffixValue


class Group(Enum):
    """Issue groups of isa.md 5.2; one line holds at most one item of each."""

    ALU = "alu"
    MAU = "mau-calc"
    MWRITE = "mau-mwrite"
    MREAD = "mau-mread"
    L1BM = "l1bm"
    L2BM = "l2bm"
    DARW = "l2bmdarw"
    NOP = "nop"
    NOFORWARD = "noforward"
    WAIT = "wait"
    MV = "mv"
    STATEMENT = "statement"


class Hazard(Enum):
    """How an instruction meets the distance rules; the text names the rows of the hazard table it takes part in."""

    PE = "reads and writes PE memories: GRF and T d >= 7, LM D >= 3"
    L1_DOWN = "reads L1BM, writes PE memories: D >= 3 after a PE->L1BM, d >= 7 after an L2BM->L1BM, d >= 11 after l2bmi"
    L1_UP = "reads PE memories, writes the L1BM"
    L2_DOWN = "reads the L2BM, writes the L1BM: D >= 4 after an L1BM->L2BM, D >= 2 after l2bmi"
    L2_UP = "reads the L1BM, writes the L2BM: d >= 11 after a PE->L1BM, D >= 3 after an L2BM->L1BM, D >= 4 after l2bmi"
    L2_INNER = "reads and writes L1BMs: d >= 11 after a PE->L1BM, D >= 3 after an L2BM->L1BM"
    MV = "asynchronous; readers of its destination need `wait`; D >= 2 after an L1BM->L2BM of the same words"
    NONE = "no distance rule"


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """What one spelling of a mnemonic says: precision letter, `u` prefix, `u`/`d` half, `r`, reduction.

    One object per record and spelling, equal to itself only.
    """

    prec: str = ""
    unsigned: bool = False
    half: str = ""
    narrow: bool = False
    rrn: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """One operand of an instruction.

    Attributes:
        name: the letter or word used in `meaning`.
        kinds: where the operand may live.
        modifiers: allowed `-`, `e`, `r` by precision letter; "*" stands for every precision.
        rule: widening rule of `e` ("value", "keep_zero_sign", "raw"; numerics.md 8).
        accumulator: elements are one precision up for half instructions (four singles in a 2LW).
        many: one or more operands (destinations).
        addressed: matrix registers only: with a row or column number, or without.
        place: MV and DAR operands: how group and bank are written ("", "@g", "@.l", "@g.l").
    """

    name: str
    kinds: frozenset[Kind]
    modifiers: Mapping[str, str] = field(default_factory=dict, hash=False)
    rule: str = "value"
    accumulator: bool = False
    many: bool = False
    addressed: bool = True
    place: str = ""

    def allowed(self, prec: str) -> str:
        """The modifier characters this slot takes in precision `prec`."""
        return self.modifiers.get(prec, self.modifiers.get("*", ""))


@value
class Parsed:
    """An item whose grammar is settled: the record, its variant, suffix, zero flush and operands in order.

    `sources` and `dests` are the PE operands among them that are read and written.  `note` is a warning or "".
    """

    record: Record
    variant: Variant
    suffix: SuffixValue
    flush: MaskExpr | None
    operands: tuple[Operand, ...]
    text: str
    sources: tuple[PeOperand, ...] = ()
    dests: tuple[PeOperand, ...] = ()
    note: str = ""


@dataclass(frozen=True, eq=False)
class Record:
    """One instruction.

    Attributes:
        name: unique name, the mnemonic without its variable parts.
        title: one line for the reference page.
        group: issue group (unit).
        mnemonics: every spelling before the first of `@ + - /`, with what it says.
        slots: operands in order; the last may be `many`.
        meaning: formula; for integer ALU operations a Python expression over x, y and the element width n.
        lower: turns a `Parsed` into the machine's item.
        kernel: value operation(s) of a variant; the import of `hw.kernels` happens inside.
        source: section of the specification.
        suffix: what may follow the mnemonic.
        zero_flush: whether a mask on the mnemonic is legal.
        flags: when the mask flag of an element is 1, "" for no flags.
        check: extra rules of this instruction (raises AsmError).
        note: a warning for legal text that the official emulator cannot execute, "" if there is none.
    """

    name: str
    title: str
    group: Group
    mnemonics: Mapping[str, Variant]
    slots: tuple[Slot, ...]
    meaning: str
    example: str
    source: str
    lower: Callable[[Parsed], Item | Mv] | None = None
    kernel: Callable[[Variant], Kernel] | None = None
    suffix: Suffix = Suffix.NONE
    zero_flush: bool = False
    flags: str = ""
    hazard: Hazard = Hazard.PE
    check: Callable[[Parsed], None] | None = None
    note: Callable[[Parsed], str] | None = None

    @property
    def source_count(self) -> int:
        """Number of leading operands that are read (the rest is written)."""
        return len(self.slots) - 1
