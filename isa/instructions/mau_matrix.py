"""MAU products of a matrix register and a block-float vector (isa.md 9.4, numerics.md 6)."""

from __future__ import annotations

from collections.abc import Callable

from hw.kernels.abi import Kernel
from isa.instructions.mau_vector import ACCUMULATOR_MODIFIERS, FLAGS, halves
from isa.instructions.slots import PE_SOURCES, RESULTS
from isa.lower.compute import lower_mau
from isa.lower.kernels import table_entry
from isa.operand import Kind, PeOperand
from isa.record import Group, Parsed, Record, Slot, Variant

_MATRIX = Slot("A", frozenset({Kind.MATRIX}), addressed=False)
# `e` on the vector widens bit fields: the vector is a block float (isa.md 9.2).
_VECTOR = Slot("x", PE_SOURCES, {"d": "-e", "f": "-e", "g": "-e", "h": "-r"}, rule="raw")
_ADDEND = Slot("y", PE_SOURCES, ACCUMULATOR_MODIFIERS, accumulator=True)


def _lookup(op: str) -> Callable[[Variant], Kernel]:
    return lambda v: table_entry("mau_matrix", "MAU_MATRIX", (op, v.prec, v.narrow, v.half))


def _note(parsed: Parsed) -> str:
    vector = parsed.operands[1]
    if parsed.variant.prec == "g" and isinstance(vector, PeOperand) and vector.modifier == "e":
        return f"`{parsed.text}`: `e` on the vector is undefined for pseudo singles; the official emulator stops here"
    return ""


def _record(op: str, title: str, meaning: str, slots: tuple[Slot, ...], example: str) -> Record:
    return Record(
        name=op,
        title=title,
        group=Group.MAU,
        mnemonics=halves(op, "dfgh", split_double=True),
        slots=(*slots, RESULTS),
        meaning=meaning,
        example=example,
        source="isa.md 9.4, numerics.md 6",
        lower=lower_mau,
        kernel=_lookup(op),
        zero_flush=True,
        flags=FLAGS,
        note=_note,
    )


RECORDS = (
    _record(
        "mfma", "matrix times vector plus vector", "A*x + y", (_MATRIX, _VECTOR, _ADDEND), "gmfma $lx $lr0v $ls0v $ln0v"
    ),
    _record("mmul", "matrix times vector", "A*x", (_MATRIX, _VECTOR), "hmmul $ly $lr0v $lln0v"),
)
