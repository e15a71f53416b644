"""128-bit sign-magnitude sums inside kernel bodies, rounded once to double or single.

A number is (negative, high, low) with uint64 parts and an int64 `unit`: its value is (high * 2**64 + low) * 2**unit.
"""

from __future__ import annotations

from typing import Any

from hw.formats.descriptor import DOUBLE, SINGLE, FloatFormat
from hw.kernels.bits import U0, U1, I, U, leading_zeros

_S63, _S64 = U(63), U(64)
_ALL = U(0xFFFFFFFFFFFFFFFF)


def shift_left(low: Any, count: Any) -> Any:
    """(high, low) of a 64-bit number moved left by 0..127."""
    if count >= _S64:
        return low << (count - _S64), U0
    if count == U0:
        return U0, low
    return low >> (_S64 - count), low << count


def shift_right_odd(high: Any, low: Any, count: Any) -> Any:
    """(high, low) >> count for 0..63, rounded to odd."""
    if count == U0:
        return high, low
    lost = low & ((U1 << count) - U1)
    moved = low >> count | high << (_S64 - count)
    return high >> count, moved | (U1 if lost else U0)


def add_signed(n_a: Any, h_a: Any, l_a: Any, n_b: Any, h_b: Any, l_b: Any) -> Any:
    """Sum of two sign-magnitude numbers; |a|, |b| < 2**126.  Zero comes out with sign 0."""
    if n_a == n_b:
        low = l_a + l_b
        return n_a, h_a + h_b + (U1 if low < l_a else U0), low
    if h_a > h_b or (h_a == h_b and l_a >= l_b):
        low = l_a - l_b
        high = h_a - h_b - (U1 if l_a < l_b else U0)
        return (n_a if high | low else U0), high, low
    low = l_b - l_a
    return n_b, h_b - h_a - (U1 if l_b < l_a else U0), low


def _wide_encoder(fmt: FloatFormat) -> Any:
    """Function (negative, high, low, unit) -> pattern of `fmt`, one rounding to nearest even."""
    cut = U(63 - fmt.mantissa_bits)
    rest_mask, below_half = U((1 << (63 - fmt.mantissa_bits)) - 1), U((1 << (62 - fmt.mantissa_bits)) - 1)
    hidden, m_bits, sign_shift = U(1 << fmt.mantissa_bits), U(fmt.mantissa_bits), U(fmt.bits - 1)
    carry_shift = U(fmt.mantissa_bits + 1)
    bias, all_ones = I(fmt.bias), I(fmt.all_ones)
    infinity = U(fmt.join(0, fmt.all_ones, 0))

    def encode(negative: Any, high: Any, low: Any, unit: Any) -> Any:
        if high | low == U0:
            return U0
        zeros = leading_zeros(high) if high else leading_zeros(low) + _S64
        if zeros >= _S64:
            top = low << (zeros - _S64)
        elif zeros == U0:
            top = high | (U1 if low else U0)
        else:
            top = high << zeros | low >> (_S64 - zeros) | (U1 if low << zeros else U0)
        significand = (top >> cut) + (((top & rest_mask) + below_half + (top >> cut & U1)) >> cut)
        exponent = unit + I(127) - I(zeros) + bias
        if significand >> carry_shift:
            significand >>= U1
            exponent += I(1)
        if exponent <= I(0):
            return U0
        magnitude = infinity if exponent >= all_ones else U(exponent) << m_bits | (significand - hidden)
        return negative << sign_shift | magnitude

    return encode


ENCODERS: dict[str, Any] = {"d": _wide_encoder(DOUBLE), "f": _wide_encoder(SINGLE)}
