"""Fast row kernels of the ALU: integer operations, and the float operations that only select and compare.

Elements of 64, 32 or 16 bits are vector lanes.  LW1 of the result is that of the first source (isa.md 11.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from hw.formats.descriptor import FLOATS, INTEGER_BITS, FloatFormat
from hw.kernels.abi import Kernel
from hw.kernels.alu_float import ALU_FLOAT
from hw.kernels.alu_int import ALU_INT
from hw.kernels.alu_misc import ZERO
from hw.kernels.fast_ir import I64, OUT, ROW_BYTES, Build, Code, RowKernel, Vec, row_kernel

_BYTES = 64  # of a vector
Element = Callable[[Vec, Vec, int], Vec]


def _shift_left(x: Vec, y: Vec, n: int) -> Vec:
    """Counts are y mod 2n; n and more give 0."""
    count = y & 2 * n - 1
    return count.below(n).select(x << (count & n - 1), 0)


def _shift_right(x: Vec, y: Vec, n: int) -> Vec:
    count = y & 2 * n - 1
    return count.below(n).select(x >> (count & n - 1), 0)


def _shift_right_signed(x: Vec, y: Vec, n: int) -> Vec:
    count = y & 2 * n - 1
    return x.ashr(count.below(n).select(count, n - 1))


def _rotate_left(x: Vec, y: Vec, n: int) -> Vec:
    count = y & n - 1
    return x << count | x >> ((count ^ -1) + (n + 1) & n - 1)


def _rotate_right(x: Vec, y: Vec, n: int) -> Vec:
    count = y & n - 1
    return x >> count | x << ((count ^ -1) + (n + 1) & n - 1)


def _unsigned(how: str) -> Element:
    """Unsigned maximum or minimum; equal operands are the same pattern."""
    return lambda x, y, n: x.below(y).select(y, x) if how == "max" else x.below(y).select(x, y)


# op: (operands, signed element, unsigned element or None for the same)
_INTEGER: dict[str, tuple[int, Element, Element | None]] = {
    "passa": (1, lambda x, y, n: x, None),
    "inc": (1, lambda x, y, n: x + 1, None),
    "dec": (1, lambda x, y, n: x - 1, None),
    "not": (1, lambda x, y, n: x ^ -1, None),
    "lnot": (1, lambda x, y, n: x.compare("==", 0).cast("zext", x.element), None),
    "and": (2, lambda x, y, n: x & y, None),
    "or": (2, lambda x, y, n: x | y, None),
    "xor": (2, lambda x, y, n: x ^ y, None),
    "add": (2, lambda x, y, n: x + y, None),
    "sub": (2, lambda x, y, n: x - y, None),
    "lsl": (2, _shift_left, None),
    "lsr": (2, _shift_right_signed, _shift_right),
    "bsl": (2, _rotate_left, None),
    "bsr": (2, _rotate_right, None),
    "max": (2, lambda x, y, n: x.max(y), _unsigned("max")),
    "min": (2, lambda x, y, n: x.min(y), _unsigned("min")),
    "packbit": (2, lambda x, y, n: x << 1 | y >> n - 1, None),
}


def _order(x: Vec, fmt: FloatFormat) -> Vec:
    """Signed integers that order as the floats do, all patterns with exponent 0 equal (isa.md 11.4)."""
    magnitude = x & fmt.sign_bit - 1
    magnitude = (x & fmt.all_ones << fmt.mantissa_bits).compare("==", 0).select(x ^ x, magnitude)
    negated = x.code.vector(x.element, x.type.count, 0) - magnitude
    return x.compare("<", 0).select(negated, magnitude)


def _select(fmt: FloatFormat, largest: bool) -> Element:
    def element(x: Vec, y: Vec, n: int) -> Vec:
        return _order(x, fmt).compare(">=" if largest else "<=", _order(y, fmt)).select(x, y)

    return element


def _relu(fmt: FloatFormat, bit: int) -> Element:
    """y where bit `bit` from the top of x is 0, else -0."""

    def element(x: Vec, y: Vec, n: int) -> Vec:
        return (x << bit).compare("<", 0).select(y.constant(fmt.sign_bit), y)

    return element


def _float_elements(fmt: FloatFormat) -> dict[str, Element]:
    relu = {f"relu{bit or ''}": _relu(fmt, bit) for bit in range(4)}
    return {"max": _select(fmt, largest=True), "min": _select(fmt, largest=False), **relu}


def _build(element: Element, operands: int, bits: int) -> Build:
    lane = ir.IntType(bits)

    def build(code: Code, args: Sequence[Any]) -> None:
        with code.loop(4) as cycle:
            rows = [code.row(k, 0, cycle.index) for k in range(operands)]
            second = code.row(0, 1, cycle.index)
            outs = [code.row(OUT, lw, cycle.index) for lw in range(2)]
            for at in range(0, ROW_BYTES, _BYTES):
                values = [code.load(row, at, lane, 512 // bits) for row in rows]
                copied = code.load(second, at, I64, 8)
                code.store(element(values[0], values[-1], bits), outs[0], at)
                code.store(copied, outs[1], at)

    return build


def _zero(code: Code, args: Sequence[Any]) -> None:
    with code.loop(8) as row:
        out = code.row(OUT, 0, row.index)
        for at in range(0, ROW_BYTES, _BYTES):
            code.store(code.vector(I64, 8, 0), out, at)


def _kernels() -> dict[Kernel, RowKernel]:
    table = dict((row_kernel(ZERO, _zero, ()),))
    for op, (operands, signed, unsigned) in _INTEGER.items():
        for prec, bits in INTEGER_BITS.items():
            for general, element in ((False, signed), (True, unsigned or signed)):
                build = _build(element, operands, bits)
                table.update((row_kernel(ALU_INT[op, prec, general], build, (2, 1)[:operands]),))
    for prec, fmt in FLOATS.items():
        for op, element in _float_elements(fmt).items():
            table.update((row_kernel(ALU_FLOAT[op, prec], _build(element, 2, fmt.bits), (2, 1)),))
    return table


FAST_ALU: dict[Kernel, RowKernel] = _kernels()
