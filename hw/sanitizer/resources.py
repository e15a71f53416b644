"""What an item touches: resources, accesses and footprints, as plain data.

Addresses are bit sets (Python integers): bit *a* set means address *a* is touched.  That makes "do these two overlap"
one AND, whatever the memory.  Units per resource: 32-bit words for LM and GRF, long words for L1BM and L2BM,
the cycle for T, the entry for mask registers; latches and other single things use bit 0.
"""

from __future__ import annotations

from enum import IntEnum, auto

from hw.value import value


class Res(IntEnum):
    """Everything whose order of accesses matters."""

    LM0 = 0
    LM1 = 1
    GRF0 = 2
    GRF1 = 3
    T = 4
    OMR = 5
    BAR0 = 6
    BAR1 = 7
    MATRIX_X = 8
    MATRIX_Y = 9
    MAUF = 10
    ALUF = 11
    LBF = 12
    MREADF = 13
    TURN = 14
    L1BM = 15
    L2BM = 16
    DAR = 17
    DARBUF = 18


LATCHES = frozenset({Res.MAUF, Res.ALUF, Res.LBF, Res.MREADF})
"""Forwarding latches: hold the output of the previous step only (isa.md 3.11)."""

NAMES = {
    Res.MATRIX_X: "matrix register x",
    Res.MATRIX_Y: "matrix register y",
    Res.OMR: "mask register",
    Res.BAR0: "base address of LM0",
    Res.BAR1: "base address of LM1",
    Res.TURN: "turnaround register",
}
"""Names for messages where the enum name alone would be unclear."""

UNITS = {Res.LM0: "word", Res.LM1: "word", Res.GRF0: "word", Res.GRF1: "word", Res.T: "cycle", Res.OMR: "entry"}
"""What an address of the resource counts; long words where not listed."""


def name(res: Res) -> str:
    """How messages call a resource, e.g. ``GRF0`` or ``matrix register x``."""
    return NAMES.get(res, res.name)


class Actor(IntEnum):
    """Which kind of item makes an access: the hazard table tells them apart (hazards.md 2)."""

    PE = auto()  # the PE side of any item
    LOAD = auto()  # L1BM side of L1BM->PE
    STORE = auto()  # L1BM side of PE->L1BM
    DOWN = auto()  # L2BM->L1BM
    UP = auto()  # L1BM->L2BM, with or without reduction
    INNER = auto()  # l2bmi
    DAR = auto()  # l2bmdars, l2bmdarw
    MV = auto()


@value
class Access:
    """One resource read or written by one item.

    cycles: the touched addresses of each of the four cycles as bit sets; all zero for an access that is certainly
    masked off.
    unknown: the addresses are computed at run time (T-indirect); `cycles` then covers the whole memory.
    places: bit set of L1Bs (L1BM), of L2Bs q = 2*group+bank (L2BM), of groups (DAR); 1 for PE resources.
    """

    res: Res
    write: bool
    actor: Actor
    cycles: tuple[int, int, int, int]
    places: int = 1
    unknown: bool = False
    total: int = 0

    @classmethod
    def of(
        cls,
        res: Res,
        write: bool,
        actor: Actor,
        cycles: tuple[int, int, int, int],
        places: int = 1,
        unknown: bool = False,
    ) -> Access:
        """Build an access and its union over the cycles."""
        return cls(res, write, actor, cycles, places, unknown, cycles[0] | cycles[1] | cycles[2] | cycles[3])


@value
class OffChip:
    """PDM or DRAM long words of an MV: `length` from `start` in each group of the bit set; length None = anywhere."""

    dram: bool
    write: bool
    groups: int
    start: int
    length: int | None

    def overlaps(self, other: OffChip) -> bool:
        """True if both touch a common long word, wrap-around included as "anywhere"."""
        if self.dram != other.dram or not self.groups & other.groups:
            return False
        if self.length is None or other.length is None:
            return True
        return self.start < other.start + other.length and other.start < self.start + self.length


@value
class Footprint:
    """Everything one item or MV reads and writes.

    earlier, later: bit sets over `rules.RULES`: the rules in which this item can be the earlier or the later partner.
    ports: for port rules, rule index -> places, filled for the same two roles.
    """

    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    off_chip: tuple[OffChip, ...] = ()
    earlier: int = 0
    later: int = 0
    earlier_ports: tuple[tuple[int, int], ...] = ()
    later_ports: tuple[tuple[int, int], ...] = ()

    @property
    def latches_read(self) -> frozenset[Res]:
        """Forwarding latches this item reads."""
        return frozenset(a.res for a in self.reads if a.res in LATCHES)

    @property
    def latches_written(self) -> frozenset[Res]:
        """Forwarding latches this item's unit fills."""
        return frozenset(a.res for a in self.writes if a.res in LATCHES)
