"""Precision changes `e` and `r` (numerics.md 8): value conversions work on numbers, raw ones on bit fields."""

from __future__ import annotations

from hw.formats.descriptor import HALF, SINGLE, FloatFormat
from hw.formats.exact import rne_shift


def raw_narrow(single: int) -> int:
    """Single pattern -> half pattern: exponent clamped to 0..63, mantissa rounded to nearest even, sign kept."""
    sign, exponent, mantissa = SINGLE.split(single)
    quotient = rne_shift(mantissa, 14)
    carry = quotient >> 9
    return HALF.join(sign, min(max(exponent - 96 + carry, 0), 63), quotient & 511)


def raw_widen(pattern: int, narrow: FloatFormat, wide: FloatFormat) -> int:
    """Field-wise widening: exponent 0 stays 0, all ones becomes all ones, else rebiased; mantissa shifted up."""
    sign, exponent, mantissa = narrow.split(pattern)
    if exponent == narrow.all_ones:
        exponent = wide.all_ones
    elif exponent:
        exponent += wide.bias - narrow.bias
    return wide.join(sign, exponent, mantissa << (wide.mantissa_bits - narrow.mantissa_bits))


def value_widen(pattern: int, narrow: FloatFormat, wide: FloatFormat, *, keep_zero_sign: bool = False) -> int:
    """Exact widening of the number: zeros and infinities lose their mantissa, zeros also the sign unless kept."""
    sign, exponent, _ = narrow.split(pattern)
    if exponent == 0:
        return wide.join(sign, 0, 0) if keep_zero_sign else 0
    if exponent == narrow.all_ones:
        return wide.join(sign, wide.all_ones, 0)
    return raw_widen(pattern, narrow, wide)
