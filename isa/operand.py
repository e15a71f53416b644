"""Parsed operands: what one operand text says, before any instruction judges it."""

from __future__ import annotations

from enum import IntEnum

from hw.program import PER_CYCLE, Mem
from hw.value import value


class Kind(IntEnum):
    """Everything an operand can name.  The first fifteen have the values of `hw.program.Mem`."""

    LM0 = 0
    LM1 = 1
    GRF0 = 2
    GRF1 = 3
    T = 4
    MAUF = 5
    ALUF = 6
    LBF = 7
    MREADF = 8
    FIXED = 9
    IMM = 10
    BAR0 = 11
    BAR1 = 12
    OMR = 13
    NOWRITE = 14
    MATRIX = 15
    L1BM = 16
    TURN = 17
    L2BM = 18
    DAR = 19
    PDM = 20
    DRAM = 21


MEMORIES = frozenset({Kind.LM0, Kind.LM1, Kind.GRF0, Kind.GRF1})
PE_KINDS = frozenset(Kind(mem) for mem in Mem) - {Kind.IMM}
FORWARDS = frozenset({Kind.MAUF, Kind.ALUF, Kind.LBF})

KIND_NAMES: dict[Kind, str] = {
    Kind.LM0: "LM0 `$m`",
    Kind.LM1: "LM1 `$n`",
    Kind.GRF0: "GRF0 `$r`",
    Kind.GRF1: "GRF1 `$s`",
    Kind.T: "T `$t`",
    Kind.MAUF: "`$mauf`",
    Kind.ALUF: "`$aluf`",
    Kind.LBF: "`$lbf`",
    Kind.MREADF: "`$mreadf`",
    Kind.FIXED: "fixed input `$peid`...",
    Kind.IMM: 'literal `f"1.0"`',
    Kind.BAR0: "LM0 base address `$mb`",
    Kind.BAR1: "LM1 base address `$nb`",
    Kind.OMR: "mask register `$omr1`..`$omr15`",
    Kind.NOWRITE: "`$nowrite`",
    Kind.MATRIX: "matrix register `$lx` `$ly`",
    Kind.L1BM: "L1BM `$lb` `$llb`",
    Kind.TURN: "turnaround register `$lbi` `$llbi`",
    Kind.L2BM: "L2BM `$lc`",
    Kind.DAR: "DAR entry `$dar`",
    Kind.PDM: "PDM `$p`",
    Kind.DRAM: "DRAM `$d` `$di`",
}


Shape = tuple[int | str | bool, ...]
"""What the grammar of an item looks at in an operand, without addresses: kind, sign, modifier, mask or group given."""


@value
class MaskExpr:
    """A mask expression: register entry, `ll` word length, and the trailing `t` or `p` ("" if none) of isa.md 4.2."""

    entry: int
    words: bool = False
    escape: str = ""


@value
class PeOperand:
    """A PE-side operand.  `addr` counts words and is not wrapped; `flat` tells a list from a start with stride.

    `value` is the entry of a mask register or the number of a fixed input.
    """

    text: str
    kind: Kind
    width: int = 4
    addr: PER_CYCLE = (0, 0, 0, 0)
    flat: bool = False
    j: int | None = None
    via_t: bool = False
    value: int = 0
    negate: bool = False
    modifier: str = ""
    mask: MaskExpr | None = None

    @property
    def shape(self) -> Shape:
        """Kind, sign, modifier, whether masked."""
        return self.kind, self.negate, self.modifier, self.mask is None

    @property
    def port(self) -> tuple[PER_CYCLE, int, int, int | None, bool]:
        """The address fields of the instruction word: two accesses share a port only if these agree (isa.md 5.3).

        A list and a stride are different fields, even where they name the same words.
        """
        a0, a1 = self.addr[:2]
        if self.flat:
            return self.addr, 0, self.width, self.j, self.via_t
        return (a0,) * 4, a1 - a0, self.width, self.j, self.via_t


@value
class MatrixOperand:
    """A matrix register; `start` None for the whole matrix (MAU sources), `lws` 1 (`$lx`) or 2 (`$llx`)."""

    text: str
    plane: int
    start: int | None
    lws: int
    negate: bool = False
    modifier: str = ""
    kind: Kind = Kind.MATRIX

    @property
    def shape(self) -> Shape:
        """Kind, sign, modifier, whether numbered."""
        return self.kind, self.negate, self.modifier, self.start is None


@value
class BankOperand:
    """A place outside the PEs in long words (DAR: entries).  `lws` 2 for `$llb`, `$llbi`.

    `group`, `bank` are None where the text leaves them out; `indirect` marks `$di`.
    """

    text: str
    kind: Kind
    addr: int = 0
    lws: int = 1
    group: int | None = None
    bank: int | None = None
    indirect: bool = False

    @property
    def shape(self) -> Shape:
        """Kind, whether group and bank are given."""
        return self.kind, self.group is None, self.bank is None


@value
class Literal:
    """An immediate, already converted to its 32 bits (isa.md 2.4)."""

    text: str
    bits: int
    kind: Kind = Kind.IMM

    @property
    def shape(self) -> Shape:
        """The kind alone."""
        return (self.kind,)


Operand = PeOperand | MatrixOperand | BankOperand | Literal
