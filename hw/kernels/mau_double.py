"""Multiply-add of doubles in 128-bit integers: product with omission, finite alignment (numerics.md 3).

`make_aligned_sum` serves the vector and the matrix operations; they differ in the unit of the product and the
alignment.
"""

from __future__ import annotations

from typing import Any

from hw.formats.descriptor import DOUBLE, FloatFormat
from hw.formats.multiply_add import OMISSION, VECTOR, Alignment
from hw.kernels.abi import LANES
from hw.kernels.bits import U0, U1, I, U, multiply_high
from hw.kernels.wide import ENCODERS, add_signed, shift_left, shift_right_odd

_S52, _S63 = U(52), U(63)
_M52, _E11, _HIDDEN = U((1 << 52) - 1), U(2047), U(1 << 52)
_LOW, _STAND_IN = U((1 << OMISSION["d"][0]) - 1), U(OMISSION["d"][1])
_BIAS, _ALL = I(DOUBLE.bias), U(DOUBLE.all_ones)
_INFINITY = U(0x7FF << 52)
# Room left of the addend: with the addend's LSB at most 72 units up, 53 + 72 bits stay below 2**126.
_MOST_LEFT = I(72)


def omitted_product(a: Any, b: Any) -> Any:
    """(high, low) of a * b with the products of the low 16 bits replaced by a stand-in bit (numerics.md 3.2)."""
    high, low = multiply_high(a, b), a * b
    omitted = (a & _LOW) * (b & _LOW)
    if omitted:
        less = low - omitted
        high -= U1 if less > low else U0
        low = less + _STAND_IN
        high += U1 if low < less else U0
    return high, low


def is_infinite(x: Any) -> Any:
    """Exponent field all ones."""
    return x >> _S52 & _E11 == _ALL


def infinity_of(p_infinite: Any, p_negative: Any, z: Any, infinity: Any, sign_shift: Any) -> Any:
    """Sum with at least one infinity; opposite infinities give +infinity (numerics.md 2.2)."""
    negative = z >> _S63
    if p_infinite:
        negative = p_negative & negative if is_infinite(z) else p_negative
    return infinity | negative << sign_shift


def make_aligned_sum(rule: Alignment, product_unit: int, out: FloatFormat) -> Any:
    """Function (live, negative, high, low, ep, z) -> pattern of `out`, for finite operands.

    The product is (high, low) * 2**(ep + product_unit); not `live`: there is no product and z passes.  z is a finite
    double.
    """
    encode = ENCODERS[out.letter]
    unit, cut_offset = I(product_unit), I(rule.unit - 52)
    drop_addend, drop_product, lift = I(rule.drop_addend), I(rule.drop_product), I(-52 - product_unit)

    def aligned_sum(live: Any, negative: Any, high: Any, low: Any, ep: Any, z: Any) -> Any:
        field, z_negative, significand = z >> _S52 & _E11, z >> _S63, z & _M52 | _HIDDEN
        if field == U0:
            return encode(negative, high, low, ep + unit) if live else U0
        ez = I(field) - _BIAS
        distance = ep - ez
        if not live or -distance >= drop_product:
            return encode(z_negative, U0, significand, ez - I(52))
        if distance >= drop_addend:
            return encode(negative, high, low, ep + unit)
        if distance > cut_offset:
            cut = U(distance - cut_offset)
            lost = significand & ((U1 << cut) - U1)
            significand = significand - lost | (U1 << cut if lost else U0)
        left = lift - distance
        if left <= I(0):
            z_high, z_low = U0, significand >> U(-left)
        else:
            # A product far below the addend only matters as a sticky bit; it keeps more than 18 bits below the result.
            sink = max(left - _MOST_LEFT, I(0))
            high, low = shift_right_odd(high, low, U(sink))
            z_high, z_low = shift_left(significand, U(left - sink))
            ep += sink
        negative, high, low = add_signed(negative, high, low, z_negative, z_high, z_low)
        return encode(negative, high, low, ep + unit)

    return aligned_sum


def _make_fma(out: FloatFormat) -> Any:
    """Function (x, y, z, active) -> pattern; an inactive PE has product 0 (numerics.md 3.3)."""
    aligned_sum = make_aligned_sum(VECTOR["d"], -104, out)
    infinity, sign_shift = U(out.join(0, out.all_ones, 0)), U(out.bits - 1)
    bias = I(2 * DOUBLE.bias)

    def fma(x: Any, y: Any, z: Any, active: Any) -> Any:
        ex, ey = x >> _S52 & _E11, y >> _S52 & _E11
        negative = (x ^ y) >> _S63
        zero = ex == U0 or ey == U0 or not active
        infinite = (ex == _ALL or ey == _ALL) and not zero
        if infinite or is_infinite(z):
            return infinity_of(infinite, negative, z, infinity, sign_shift)
        if zero:
            return aligned_sum(False, U0, U0, U0, I(0), z)
        high, low = omitted_product(x & _M52 | _HIDDEN, y & _M52 | _HIDDEN)
        return aligned_sum(True, negative, high, low, I(ex) + I(ey) - bias, z)

    return fma


_ONE = U(DOUBLE.join(0, DOUBLE.bias, 0))


def _element(op: str, out: FloatFormat) -> Any:
    """Function (x, y, z, active) of one PE."""
    fma = _make_fma(out)

    def vmul(x: Any, y: Any, z: Any, active: Any) -> Any:
        return fma(x, y, U0, active)

    def vadd(x: Any, y: Any, z: Any, active: Any) -> Any:
        return fma(x, _ONE, y, True)

    def vpassa(x: Any, y: Any, z: Any, active: Any) -> Any:
        return fma(x, _ONE, U0, True)

    return {"vfma": fma, "vmul": vmul, "vadd": vadd, "vpassa": vpassa}[op]


def double_body(op: str, out: FloatFormat, half: str) -> Any:
    """Body of a double vector operation; half "u" computes products in PE 0 and 1, "d" in PE 2 and 3, "" in all."""
    element = _element(op, out)
    first = {"u": 0, "d": 2, "": 0}[half]
    last = {"u": 1, "d": 3, "": 3}[half]
    sign_shift, up = U(out.bits - 1), U(64 - out.bits)
    flag_bits = U(15 if out is DOUBLE else 12)

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            pe = (i >> 4) & 3
            r = element(s0[i], s1[i], s2[i], first <= pe <= last)
            out[i] = r << up
            out[LANES + i] = U0
            flags[i] = (r >> sign_shift ^ U1) * flag_bits

    return body
