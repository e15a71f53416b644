"""MAU arithmetic on vectors: every PE for itself (isa.md 9, numerics.md 3)."""

from __future__ import annotations

from collections.abc import Callable

from hw.kernels.abi import Kernel
from isa.instructions.slots import PE_SOURCES, RESULTS
from isa.lower.compute import lower_mau
from isa.lower.kernels import table_entry
from isa.record import Group, Record, Slot, Variant

FLAGS = "result element is not negative"
ACCUMULATOR_MODIFIERS = {"*": "-e"}


def _factor(name: str) -> Slot:
    return Slot(name, PE_SOURCES, {"d": "-e", "f": "-e", "h": "-r"})


def _addend(name: str) -> Slot:
    return Slot(name, PE_SOURCES, ACCUMULATOR_MODIFIERS, accumulator=True)


def halves(op: str, precs: str, *, split_double: bool) -> dict[str, Variant]:
    """Spellings `<prec><op>[u|d][r]`; double products take `u` or `d` (isa.md 9.1)."""
    return {
        f"{prec}{op}{half}{'r' * narrow}": Variant(prec, half=half, narrow=bool(narrow))
        for prec in precs
        for half in (("u", "d") if prec == "d" and split_double else ("",))
        for narrow in range(2)
    }


def _lookup(op: str) -> Callable[[Variant], Kernel]:
    return lambda v: table_entry("mau_vector", "MAU_VECTOR", (op, v.prec, v.narrow, v.half))


def _record(op: str, title: str, meaning: str, slots: tuple[Slot, ...], example: str, split_double: bool) -> Record:
    return Record(
        name=op,
        title=title,
        group=Group.MAU,
        mnemonics=halves(op, "dfh", split_double=split_double),
        slots=(*slots, RESULTS),
        meaning=meaning,
        example=example,
        source="isa.md 9.1, 9.3, numerics.md 3",
        lower=lower_mau,
        kernel=_lookup(op),
        zero_flush=True,
        flags=FLAGS,
    )


_X, _Y, _Z = _factor("x"), _factor("y"), _addend("z")

RECORDS = (
    _record("vfma", "multiply and add", "x*y + z", (_X, _Y, _Z), "fvfma $lr0v $ls0v $lm0v $ln0v", True),
    _record("vmul", "multiply", "x*y", (_X, _Y), "dvmulu $lr0v $ls0v $ln0v", True),
    _record("vadd", "add", "x*1 + y", (_X, _addend("y")), "hvadd $lr0v $lls0v $lln0v", False),
    _record("vpassa", "normalised copy", "x*1 + 0", (_X,), "fvpassa $lr0v $ln0v", False),
)
