"""ALU operations on integers of 64 (`l`), 32 (`i`) and 16 (`s`) bits (isa.md 11.2, 11.3).

`meaning` is a Python expression over the unsigned elements x and y of n bits; the result is taken modulo 2**n.
`signed(v)` reads an element as two's complement.  `UNSIGNED` holds the rule of the `u` prefix where it differs.
"""

from __future__ import annotations

from collections.abc import Callable

from hw.kernels.abi import Kernel
from isa.instructions.slots import ALU_X, ALU_Y, RESULTS, note_narrowing, typed
from isa.lower.compute import lower_alu
from isa.lower.kernels import table_entry
from isa.record import Group, Record, Variant

_ZERO = "result element is 0"
_SIGN = "result >= 0 (msb 0)"

# op: (title, number of sources, meaning, flag)
_TABLE: dict[str, tuple[str, int, str, str]] = {
    "inc": ("increment", 1, "x + 1", f"{_SIGN}; with u: no carry"),
    "dec": ("decrement", 1, "x - 1", f"{_SIGN}; with u: no borrow"),
    "not": ("bitwise complement", 1, "~x", _ZERO),
    "lnot": ("logical not", 1, "1 if x == 0 else 0", _ZERO),
    "and": ("bitwise and", 2, "x & y", _ZERO),
    "or": ("bitwise or", 2, "x | y", _ZERO),
    "xor": ("bitwise exclusive or", 2, "x ^ y", _ZERO),
    "add": ("addition", 2, "x + y", f"{_SIGN}; with u: no carry"),
    "sub": ("subtraction", 2, "x - y", f"{_SIGN}; with u: no borrow"),
    "lsl": ("shift left, count modulo 2n", 2, "x << y % (2 * n)", _ZERO),
    "lsr": ("arithmetic shift right, count modulo 2n", 2, "signed(x) >> y % (2 * n)", _ZERO),
    "bsl": ("rotate left", 2, "x << y % n | x >> n - y % n", _ZERO),
    "bsr": ("rotate right", 2, "x >> y % n | x << n - y % n", _ZERO),
}

# The rule of the `u` prefix where it differs in value.
UNSIGNED: dict[str, str] = {"lsr": "x >> y % (2 * n)"}


def _lookup(op: str) -> Callable[[Variant], Kernel]:
    return lambda variant: table_entry("alu_int", "ALU_INT", (op, variant.prec, variant.unsigned))


def _record(op: str, title: str, sources: int, meaning: str, flags: str) -> Record:
    return Record(
        name=op,
        title=title,
        group=Group.ALU,
        mnemonics=typed(op, "lis"),
        slots=(*(ALU_X, ALU_Y)[:sources], RESULTS),
        meaning=meaning,
        example=f"l{op} $lr0v {'$ls0v ' if sources == 2 else ''}$ln0v",
        source="isa.md 11.2",
        lower=lower_alu,
        kernel=_lookup(op),
        zero_flush=True,
        flags=flags,
        note=note_narrowing,
    )


RECORDS = tuple(_record(op, *row) for op, row in _TABLE.items())
