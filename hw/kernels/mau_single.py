"""Exact multiply-add of the MAU for single and half factors, in float64 inside kernel bodies (numerics.md 3).

Products fit 53 bits, so they are exact doubles; the addend is jammed on its integer significand; their sum is exact or
rounded to odd, and one rounding to the target follows.  Elements are zero-extended uint64 patterns.
"""

from __future__ import annotations

from typing import Any

from hw.formats.descriptor import HALF, SINGLE, FloatFormat
from hw.formats.multiply_add import OMISSION, VECTOR, Alignment
from hw.kernels.bits import U0, U1, I, U, bits_of_double, double_of_bits
from hw.kernels.encode import encode_half, encode_single, power_of_two

ENCODERS: dict[str, Any] = {"h": encode_half, "f": encode_single}

_S23, _S31, _S63 = U(23), U(31), U(63)
_M23, _E8, _HIDDEN23 = U((1 << 23) - 1), U(255), U(1 << 23)
_I0 = I(0)
_SINGLE_BIAS, _SINGLE_SCALE = I(127), I(-150)
_SINGLE_ALL, _LOWEST_NORMAL = I(255), I(1)
_INFINITY = U(0x7FF << 52)


def signed_double(value: Any, negative: Any) -> Any:
    """Non-negative float64 with the sign bit `negative` (0 or 1)."""
    return double_of_bits(bits_of_double(value) | negative << _S63)


def round_odd_sum(p: Any, w: Any) -> Any:
    """p + w in float64, rounded to odd: exact when representable, else the last bit is set."""
    s = p + w
    rounded = s - p
    error = (p - (s - rounded)) + (w - rounded)
    pattern = bits_of_double(s)
    step = U1 if (error > 0.0) == (s > 0.0) else ~U0
    fixed = pattern + step if pattern & U1 == U0 else pattern
    return double_of_bits(fixed if error != 0.0 else pattern)


def _exact_sum(p: Any, w: Any) -> Any:
    return p + w


def make_sum(prec: str) -> Any:
    """Function (p, w) -> float64 that is exact or rounded to odd, for aligned operands of a precision.

    Sums of h are exact: let the addend's exponent be ep + j.  For j <= 0 all bits lie in 2**(ep-28) .. 2**(ep+7); for
    j > 0, where j <= 29, above min(ep - 18, ep + j - 23) and below ep + max(j, 6) + 2, which is never more than 49
    bits.
    """
    return _exact_sum if prec == "h" else round_odd_sum


def make_addend(rule: Alignment) -> Any:
    """Function (z, ep, live) -> (w, keep_product): z as a double, aligned to a product of unbiased exponent ep.

    `live` says that the product is finite and not zero; otherwise nothing is aligned, and `keep_product` means nothing.
    """
    cut_offset, most = I(rule.unit - 23), I(24)
    drop_addend, drop_product = I(rule.drop_addend), I(rule.drop_product)

    def addend(z: Any, ep: Any, live: Any) -> Any:
        field = I(z >> _S23 & _E8)
        significand = z & _M23 | _HIDDEN23
        distance = ep - (field - _SINGLE_BIAS)
        cut = min(max(distance - cut_offset, _I0), most)
        cut = cut if live else _I0
        unit = U1 << U(cut)
        low = significand & (unit - U1)
        kept = significand - low | (unit if low else U0)
        dropped = (field < _LOWEST_NORMAL) | (live & (distance >= drop_addend))
        value = float(I(U0 if dropped else kept)) * power_of_two(field + _SINGLE_SCALE)
        keep_product = (field < _LOWEST_NORMAL) | (field == _SINGLE_ALL) | (-distance < drop_product)
        return signed_double(value, z >> _S31), keep_product

    return addend


def infinite_sum(p_infinite: Any, p_negative: Any, z: Any) -> Any:
    """The infinity of a sum with at least one infinite operand; opposite signs give +infinity (numerics.md 2.2)."""
    z_negative = z >> _S31
    z_infinite = I(z >> _S23 & _E8) == _SINGLE_ALL
    p_alone = p_negative & z_negative if z_infinite else p_negative
    negative = p_alone if p_infinite else z_negative
    return double_of_bits(_INFINITY | negative << _S63)


def _make_product(fmt: FloatFormat) -> Any:
    """Function (x, y) -> (|P| as float64, unbiased exponent, sign, zero, infinite)."""
    m_bits, m_mask, hidden = U(fmt.mantissa_bits), U((1 << fmt.mantissa_bits) - 1), U(1 << fmt.mantissa_bits)
    e_mask, all_ones, sign_shift = U(fmt.all_ones), U(fmt.all_ones), U(fmt.bits - 1)
    bias, scale = I(2 * fmt.bias), I(-2 * fmt.mantissa_bits)
    low_bits, stand_in = OMISSION.get(fmt.letter, (0, 0))
    low_mask, replacement = U((1 << low_bits) - 1), U(stand_in)

    def product(x: Any, y: Any) -> Any:
        ex, ey = x >> m_bits & e_mask, y >> m_bits & e_mask
        n = (x & m_mask | hidden) * (y & m_mask | hidden)
        omitted = (x & low_mask) * (y & low_mask)
        correction = replacement - omitted
        n += correction if omitted else U0
        ep = I(ex) + I(ey) - bias
        zero = (ex == U0) | (ey == U0)
        infinite = ((ex == all_ones) | (ey == all_ones)) & ~zero
        return float(I(n)) * power_of_two(ep + scale), ep, (x ^ y) >> sign_shift & U1, zero, infinite

    return product


def make_fma(factor: FloatFormat, out: FloatFormat) -> Any:
    """Function (x, y, z) -> pattern of `out`: round(x * y + z), z single."""
    product, addend, encode = _make_product(factor), make_addend(VECTOR[factor.letter]), ENCODERS[out.letter]
    total = make_sum(factor.letter)

    def fma(x: Any, y: Any, z: Any) -> Any:
        magnitude, ep, negative, zero, infinite = product(x, y)
        w, keep = addend(z, ep, ~(zero | infinite))
        p = signed_double(magnitude if keep & ~zero else 0.0, negative)
        special = infinite | (z >> _S23 & _E8 == _E8)
        infinity, finite = infinite_sum(infinite, negative, z), total(p, w)
        return encode(infinity if special else finite)

    return fma


def make_mul(factor: FloatFormat, out: FloatFormat) -> Any:
    """Function (x, y, z) -> pattern of `out`: round(x * y)."""
    product, encode = _make_product(factor), ENCODERS[out.letter]

    def mul(x: Any, y: Any, z: Any) -> Any:
        magnitude, _, negative, zero, infinite = product(x, y)
        p = signed_double(0.0 if zero else magnitude, negative)
        return encode(double_of_bits(_INFINITY | negative << _S63) if infinite else p)

    return mul


def _make_value(fmt: FloatFormat) -> Any:
    """Function x -> (float64 value, unbiased exponent, live); infinities stay, exponent field 0 is zero."""
    m_bits, m_mask = U(fmt.mantissa_bits), U((1 << fmt.mantissa_bits) - 1)
    e_mask, all_ones, sign_shift = U(fmt.all_ones), U(fmt.all_ones), U(fmt.bits - 1)
    bias, widen, to_double = I(fmt.bias), U(52 - fmt.mantissa_bits), U(1023 - fmt.bias)

    def value(x: Any) -> Any:
        e = x >> m_bits & e_mask
        finite = (e + to_double) << U(52) | (x & m_mask) << widen
        magnitude = _INFINITY if e == all_ones else finite
        magnitude = U0 if e == U0 else magnitude
        return double_of_bits(magnitude | x >> sign_shift << _S63), I(e) - bias, (e != U0) & (e != all_ones)

    return value


def make_add(factor: FloatFormat, out: FloatFormat) -> Any:
    """Function (x, y, z) -> pattern of `out`: round(x + y), y single (the addend)."""
    value, addend, encode = _make_value(factor), make_addend(VECTOR[factor.letter]), ENCODERS[out.letter]
    sign_shift, total = U(factor.bits - 1), make_sum(factor.letter)
    e_shift, e_mask = U(factor.mantissa_bits), U(factor.all_ones)

    def add(x: Any, y: Any, z: Any) -> Any:
        p, ep, live = value(x)
        w, keep = addend(y, ep, live)
        infinite = x >> e_shift & e_mask == e_mask
        special = infinite | (y >> _S23 & _E8 == _E8)
        infinity, finite = infinite_sum(infinite, x >> sign_shift, y), total(p if keep else 0.0, w)
        return encode(infinity if special else finite)

    return add


def make_passa(factor: FloatFormat, out: FloatFormat) -> Any:
    """Function (x, y, z) -> pattern of `out`: round(x)."""
    value, encode = _make_value(factor), ENCODERS[out.letter]

    def passa(x: Any, y: Any, z: Any) -> Any:
        return encode(value(x)[0])

    return passa


MAKERS: dict[str, Any] = {"vfma": make_fma, "vmul": make_mul, "vadd": make_add, "vpassa": make_passa}
FACTORS: dict[str, FloatFormat] = {"f": SINGLE, "h": HALF}
