"""Operand slots and mnemonic tables that the record files share."""

from __future__ import annotations

from collections.abc import Iterable

from isa.operand import FORWARDS, MEMORIES, Kind
from isa.record import Parsed, Slot, Variant

PE_SOURCES = MEMORIES | FORWARDS | {Kind.T}
ALU_FIRST = PE_SOURCES | {Kind.MREADF, Kind.FIXED}
PE_DESTS = MEMORIES | {Kind.T, Kind.BAR0, Kind.BAR1, Kind.NOWRITE}
FLAG_DESTS = PE_DESTS | {Kind.OMR}
L1BM_SIDE = frozenset({Kind.L1BM, Kind.TURN})

RESULTS = Slot("dst", FLAG_DESTS, many=True)
PLAIN_RESULTS = Slot("dst", PE_DESTS, many=True)

ALU_X = Slot("x", ALU_FIRST, {"*": "r"})
ALU_Y = Slot("y", PE_SOURCES, {"*": "r"})

RRN_OPS: dict[str, tuple[str, ...]] = {
    **{prec: ("fadd", "max", "min") for prec in "dfh"},
    **{prec: ("iadd", "band", "bor", "and", "or") for prec in "lis"},
}


def typed(op: str, precs: str, *, unsigned: Iterable[bool] = (False, True)) -> dict[str, Variant]:
    """ALU spellings `[u]<prec><op>`; the assembler takes `u` on every operation (isa.md 11.1)."""
    return {f"{'u' * u}{prec}{op}": Variant(prec, unsigned=u) for u in unsigned for prec in precs}


def untyped(*names: str) -> dict[str, Variant]:
    """Spellings without precision letter."""
    return {name: Variant() for name in names}


def reductions(head: str, *, narrow: bool = False) -> dict[str, Variant]:
    """`<head><rrn>[r]` for every legal reduction operator (isa.md 6.3)."""
    return {
        f"{head}{prec}{op}{'r' * r}": Variant(prec, narrow=bool(r), rrn=(prec, op))
        for prec, ops in RRN_OPS.items()
        for op in ops
        for r in range(2 if narrow else 1)
    }


def note_narrowing(parsed: Parsed) -> str:
    """`r` on an ALU source needs an operation on half words; the assembler takes it everywhere, the emulator stops."""
    if parsed.variant.prec not in ("h", "s") and any(operand.modifier == "r" for operand in parsed.sources):
        return f"`{parsed.text}`: `r` belongs to operations on half words; the official emulator stops here"
    return ""
