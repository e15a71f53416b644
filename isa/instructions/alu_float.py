"""ALU operations on double, single and half numbers, and the four that exist for integers too (isa.md 11.2-11.5)."""

from __future__ import annotations

from collections.abc import Callable

from hw.kernels.abi import Kernel
from isa.instructions.slots import ALU_X, ALU_Y, RESULTS, note_narrowing, typed
from isa.lower.compute import lower_alu
from isa.lower.kernels import table_entry
from isa.record import Group, Record, Variant

_SIGN = "msb(x) = 0"

# op: (title, number of sources, meaning, flag)
_FLOAT: dict[str, tuple[str, int, str, str]] = {
    "rsqrt": ("approximate reciprocal square root", 1, "T[x]/64 * 2**-k (numerics.md 7.4)", _SIGN),
    "floor": ("round down", 1, "largest integer <= x, same format", "accepted, always 0"),
    "ftoi": ("to integer", 1, "x toward zero, clipped to n bits; with u: abs(x)", "accepted, always 0"),
    "relu": ("rectifier", 2, "y if bit n-1 of x is 0 else -0", _SIGN),
    "relu1": ("rectifier on bit n-2", 2, "y if bit n-2 of x is 0 else -0", "bit n-2 of x is 0"),
    "relu2": ("rectifier on bit n-3", 2, "y if bit n-3 of x is 0 else -0", "bit n-3 of x is 0"),
    "relu3": ("rectifier on bit n-4", 2, "y if bit n-4 of x is 0 else -0", "bit n-4 of x is 0"),
    "lrelud": ("leaky rectifier, slope 1/2", 2, "y if msb(x) = 0 else y/2", _SIGN),
    "lreluo": ("leaky rectifier, slope 1/8", 2, "y if msb(x) = 0 else y/8", _SIGN),
    "ilrelud": ("inverse leaky rectifier", 2, "y if msb(x) = 0 else y with exponent field + 1", _SIGN),
}

_BOTH: dict[str, tuple[str, int, str, str]] = {
    "passa": ("copy of the 2LW", 1, "x", "element of LW0 has all bits 0"),
    "max": ("maximum", 2, "x if x >= y else y", "x is chosen, or x and y are equal"),
    "min": ("minimum", 2, "x if x <= y else y", "x is chosen, or x and y are equal"),
    "packbit": ("shift in the sign of y", 2, "x << 1 | y >> n - 1", "msb(y) = 0"),
}


def _lookup(op: str) -> Callable[[Variant], Kernel]:
    def kernel(variant: Variant) -> Kernel:
        if variant.prec in "lis":
            return table_entry("alu_int", "ALU_INT", (op, variant.prec, variant.unsigned))
        name = "uftoi" if op == "ftoi" and variant.unsigned else op
        return table_entry("alu_float", "ALU_FLOAT", (name, variant.prec))

    return kernel


def _record(op: str, precs: str, title: str, sources: int, meaning: str, flags: str) -> Record:
    mnemonics = typed(op, precs)
    if op == "relu":
        mnemonics |= typed("relu0", precs)
    return Record(
        name=op,
        title=title,
        group=Group.ALU,
        mnemonics=mnemonics,
        slots=(*(ALU_X, ALU_Y)[:sources], RESULTS),
        meaning=meaning,
        example=f"f{op} $lr0v {'$ls0v ' if sources == 2 else ''}$ln0v",
        source="isa.md 11.2, numerics.md 7",
        lower=lower_alu,
        kernel=_lookup(op),
        zero_flush=True,
        flags=flags,
        note=note_narrowing,
    )


RECORDS = tuple(_record(op, "dfh", *row) for op, row in _FLOAT.items()) + tuple(
    _record(op, "dfhlis", *row) for op, row in _BOTH.items()
)
