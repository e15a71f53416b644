"""Rounding of exact results in kernel bodies: nearest even, overflow to infinity, underflow to +0 (numerics.md 2.1)."""

from __future__ import annotations

from typing import Any

from hw.formats.descriptor import HALF, SINGLE, FloatFormat
from hw.kernels.bits import SIGN64, U0, U1, I, U, bits_of_double, double_of_bits, leading_zeros

_S11, _S52, _S53, _S63 = U(11), U(52), U(53), U(63)
_CUT11, _ROUND11 = U(0x7FF), U(0x3FF)
_HIDDEN = U(1 << 52)


def power_of_two(exponent: Any) -> Any:
    """2.0**exponent for an int64 exponent in -1022..1023."""
    return double_of_bits(U(exponent + I(1023)) << _S52)


def _encoder(fmt: FloatFormat) -> Any:
    """Function float64 -> pattern of `fmt`.

    The value must be exact or rounded to odd (then it keeps at least two bits more than `fmt`, so that rounding again
    equals rounding the exact number), zero, or infinite.
    """
    m_bits, cut = U(fmt.mantissa_bits), U(52 - fmt.mantissa_bits)
    below_half = U((1 << (51 - fmt.mantissa_bits)) - 1)
    m_mask = U((1 << fmt.mantissa_bits) - 1)
    rebias, all_ones = I(fmt.bias - 1023), I(fmt.all_ones)
    infinity, sign_shift = U(fmt.join(0, fmt.all_ones, 0)), U(fmt.bits - 1)

    def encode(value: Any) -> Any:
        pattern = bits_of_double(value)
        magnitude = pattern & ~SIGN64
        rounded = (magnitude + below_half + (magnitude >> cut & U1)) >> cut
        exponent = I(rounded >> m_bits) + rebias
        finite = rounded & m_mask | U(exponent) << m_bits
        unsigned = finite if exponent < all_ones else infinity
        signed = unsigned | pattern >> _S63 << sign_shift
        return signed if exponent > I(0) else U0

    return encode


encode_half = _encoder(HALF)
encode_single = _encoder(SINGLE)


def encode_integer(total: Any, scale: Any) -> Any:
    """Signed 64-bit integer times 2**scale -> double pattern (int64 arguments, |total| < 2**63)."""
    magnitude = U(-total if total < I(0) else total)
    zeros = leading_zeros(magnitude | U1)
    normal = magnitude << zeros
    significand = (normal >> _S11) + (((normal & _CUT11) + _ROUND11 + (normal >> _S11 & U1)) >> _S11)
    carry = significand >> _S53
    exponent = scale + I(63) - I(zeros) + I(1023) + I(carry)
    mantissa = U0 if carry else significand - _HIDDEN
    sign = SIGN64 if total < I(0) else U0
    finite = sign | U(exponent) << _S52 | mantissa
    infinite = sign | U(2047) << _S52
    result = infinite if exponent >= I(2047) else finite
    return U0 if total == I(0) or exponent <= I(0) else result
