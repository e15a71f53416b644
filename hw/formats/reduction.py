"""One reduction circuit of the RRN (numerics.md 4): `fadd`, `max`, `min` and the integer and logical operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from hw.formats.descriptor import FloatFormat
from hw.formats.exact import MINUS_INFINITY, PLUS_INFINITY, Exact, encode, rne_shift


def fadd(inputs: Sequence[int], fmt: FloatFormat, out: FloatFormat) -> int:
    """Sum of patterns of `fmt`, aligned to the largest exponent with three guard bits, rounded once to `out`."""
    fields = [fmt.split(x) for x in inputs]
    signs_of_infinities = [sign for sign, exponent, _ in fields if exponent == fmt.all_ones]
    if signs_of_infinities:
        return encode(PLUS_INFINITY if 0 in signs_of_infinities else MINUS_INFINITY, out)
    largest = max(exponent for _, exponent, _ in fields)
    total = 0
    for sign, exponent, mantissa in fields:
        if exponent:
            term = rne_shift(((1 << fmt.mantissa_bits) + mantissa) << 3, largest - exponent)
            total += -term if sign else term
    return encode(Exact(total, largest - fmt.bias - fmt.mantissa_bits - 3), out)


def order_key(pattern: int, bits: int) -> int:
    """Sign-magnitude order of RRN max/min as an integer; -0 lies directly below +0 (numerics.md 4.3)."""
    magnitude = pattern & ((1 << (bits - 1)) - 1)
    return -magnitude - 1 if pattern >> (bits - 1) else magnitude


def select(inputs: Sequence[int], bits: int, *, largest: bool) -> int:
    """The largest or smallest pattern, passed through unchanged."""
    chosen = max if largest else min
    return chosen(inputs, key=lambda pattern: order_key(pattern, bits))


def integer(op: str, inputs: Sequence[int], bits: int) -> int:
    """`iadd` (wraps), `band`, `bor`, and the logical `and`, `or` with result 1 or 0 (numerics.md 4.4)."""
    mask = (1 << bits) - 1
    match op:
        case "iadd":
            return sum(inputs) & mask
        case "band":
            return reduce(lambda a, b: a & b, inputs, mask)
        case "bor":
            return reduce(lambda a, b: a | b, inputs, 0)
        case "and":
            return int(all(inputs))
        case "or":
            return int(any(inputs))
    raise ValueError(f"unknown reduction {op!r}; expected iadd, band, bor, and, or")


def unit_element(op: str, bits: int) -> int:
    """The element that stands for an absent input (isa.md 6.3)."""
    if op in ("max", "band", "and"):
        return (1 << bits) - 1
    return (1 << (bits - 1)) - 1 if op == "min" else 0
