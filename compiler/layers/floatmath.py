"""NumPy model of the chip's single-precision vector arithmetic, on raw bits of whole arrays (numerics.md 2, 3, 7).

Written from the rules and not from the kernels: references of layers are made of these functions, and tests hold them
against the element-wise model of `hw.formats`.  All arguments and results are uint32 arrays of single patterns (or of
32-bit integers where a function says so); arguments broadcast as NumPy does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

SIGN = np.uint32(0x80000000)
INF = np.uint32(0x7F800000)
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_LOW_BITS, _STAND_IN = 5, 1 << 8
_DROP_PRODUCT, _DROP_ADDEND, _ADDEND_UNIT = 26, 43, 41
_WIDE_ADDEND = 10
_RSQRT_EVEN = np.array([63, 62, 60, 58, 57, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45], np.int64)
_RSQRT_ODD = np.array([45, 43, 42, 41, 40, 39, 38, 37, 36, 36, 35, 34, 34, 33, 33, 32], np.int64)


def _split(bits: U32) -> tuple[I64, I64, I64]:
    """Sign, exponent field, mantissa."""
    wide = bits.astype(np.int64)
    return wide >> 31, (wide >> 23) & 255, wide & 0x7FFFFF


def _bit_length(value: I64) -> I64:
    """Position of the top bit plus one, of 0 <= value < 2**62; both halves are exact in float64."""
    high, low = value >> 31, value & 0x7FFFFFFF
    of_high, of_low = np.frexp(high.astype(np.float64))[1], np.frexp(low.astype(np.float64))[1]
    return np.where(high > 0, of_high + 31, of_low).astype(np.int64)


def _shift_odd(value: I64, shift: I64) -> I64:
    """value / 2**shift truncated, the last bit set when anything was cut off; value >= 0, shift >= 0."""
    shift = np.minimum(shift, 62)
    kept = value >> shift
    return kept | (kept << shift != value)


def _encode(value: I64, exponent: I64) -> U32:
    """The single nearest to value * 2**exponent, ties to even; overflow is infinity, underflow +0 (numerics.md 2.1)."""
    magnitude = np.abs(value)
    excess = _bit_length(magnitude) - 24
    right, left = np.maximum(excess, 0), np.maximum(-excess, 0)
    quotient = magnitude >> right
    rest = magnitude - (quotient << right)
    half = (np.int64(1) << right) >> 1
    up = (right > 0) & ((rest > half) | ((rest == half) & (quotient & 1 == 1)))
    significand = (quotient + up) << left
    field = exponent + excess + 23 + 127
    # A carry out of the significand runs into the exponent field, which is the right value.
    bits = (field << 23) + significand - (1 << 23)
    finite = np.where(bits >= int(INF), int(INF), bits) | np.where(value < 0, int(SIGN), 0)
    return np.where((value == 0) | (bits < 1 << 23), 0, finite).astype(np.uint32)


def fma(x: U32, y: U32, z: U32) -> U32:
    """`fvfma`: x * y + z with omitted partial products, finite addend alignment and one rounding."""
    x, y, z = np.broadcast_arrays(x, y, z)
    (sx, ex, mx), (sy, ey, my), (sz, ez, mz) = _split(x), _split(y), _split(z)
    hidden = 1 << 23
    low = (mx & 31) * (my & 31)
    product = (hidden + mx) * (hidden + my) + np.where(low != 0, _STAND_IN - low, 0)
    product_zero, addend_zero = (ex == 0) | (ey == 0), ez == 0
    product_inf, addend_inf = ((ex == 255) | (ey == 255)) & ~product_zero, ez == 255
    product = np.where(product_zero, 0, product)
    addend = np.where(addend_zero, 0, hidden + mz)
    ep, ea = ex + ey - 254, ez - 127
    above = ea - ep
    both = ~product_zero & ~addend_zero
    product = np.where(both & (above >= _DROP_PRODUCT), 0, product)
    addend = np.where(both & (-above >= _DROP_ADDEND), 0, addend)
    # Units of the sum: 2**(ep - 46), those of the product; below a much larger addend, 20 bits under its last bit.
    by_addend = (above >= _WIDE_ADDEND) & (addend != 0) | (product == 0)
    unit = np.where(by_addend, ea - 43, ep - 46)
    fine = np.clip(above + 23, 0, 33)
    cut = np.clip(46 - _ADDEND_UNIT - (above + 23), 0, 62)
    aligned = np.where(above + 23 >= 46 - _ADDEND_UNIT, addend << fine, _shift_odd(addend, cut) << 46 - _ADDEND_UNIT)
    terms = (
        np.where(by_addend, _shift_odd(product, np.maximum(above + 3, 0)), product),
        np.where(by_addend, addend << 20, np.where(addend == 0, 0, aligned)),
    )
    total = np.where(sx ^ sy == 1, -terms[0], terms[0]) + np.where(sz == 1, -terms[1], terms[1])
    result = _encode(total, unit)
    p_sign, z_sign = sx ^ sy, sz
    both_signs = np.where(product_inf & addend_inf, p_sign & z_sign, np.where(product_inf, p_sign, z_sign))
    infinite = (both_signs.astype(np.uint32) << np.uint32(31)) | INF
    return np.where(product_inf | addend_inf, infinite, result)


_ONE = np.array(0x3F800000, np.uint32)
_ZERO = np.array(0, np.uint32)


def mul(x: U32, y: U32) -> U32:
    """`fvmul`: x * y."""
    return fma(x, y, _ZERO)


def add(x: U32, y: U32) -> U32:
    """`fvadd`: x * 1 + y."""
    return fma(x, _ONE, y)


def normalise(x: U32) -> U32:
    """`fvpassa`: denormal patterns and -0 become +0, infinities lose their mantissa."""
    return fma(x, _ONE, _ZERO)


def _order(x: U32) -> I64:
    """Sign-magnitude order in which all patterns of exponent 0 are equal (isa.md 11.4)."""
    magnitude = np.where(x & INF == 0, 0, (x & _MAGNITUDE).astype(np.int64))
    return np.where(x & SIGN != 0, -magnitude, magnitude)


def at_least(x: U32, y: U32) -> Mask:
    """The flag of `fmax`: x >= y."""
    return np.asarray(_order(x) >= _order(y))


def at_most(x: U32, y: U32) -> Mask:
    """The flag of `fmin`: x <= y."""
    return np.asarray(_order(x) <= _order(y))


def maximum(x: U32, y: U32) -> U32:
    """`fmax`: bits of the larger, of x when equal."""
    return np.where(at_least(x, y), x, y)


def minimum(x: U32, y: U32) -> U32:
    """`fmin`: bits of the smaller, of x when equal."""
    return np.where(at_most(x, y), x, y)


def relu(x: U32, y: U32) -> U32:
    """`frelu`: y where the sign of x is clear, else -0."""
    return np.where(x & SIGN == 0, y, SIGN)


def floor(x: U32) -> U32:
    """`ffloor`: largest integer value not above x; patterns of exponent 0 and infinities pass unchanged."""
    sign, exponent, _ = _split(x)
    magnitude = (x & _MAGNITUDE).astype(np.int64)
    cut = np.clip(150 - exponent, 0, 23)
    kept = magnitude >> cut << cut
    kept = kept + np.where((sign == 1) & (kept != magnitude), np.int64(1) << cut, 0)
    small = np.where(sign == 1, 0xBF800000, 0)
    result = np.where(exponent < 127, small, kept | sign << 31).astype(np.uint32)
    return np.where((exponent == 0) | (exponent >= 150), x, result)


def to_integer(x: U32) -> U32:
    """`fftoi`: signed 32-bit integer toward zero, clipped; infinities clip, exponent 0 gives 0."""
    sign, exponent, mantissa = _split(x)
    significand = (1 << 23) + mantissa
    shift = exponent - 150
    magnitude = np.where(shift >= 0, significand << np.clip(shift, 0, 9), significand >> np.clip(-shift, 0, 40))
    magnitude = np.where(exponent >= 127 + 32, 1 << 32, magnitude)
    magnitude = np.where(exponent == 0, 0, magnitude)
    signed = np.where(sign == 1, -np.minimum(magnitude, 1 << 31), np.minimum(magnitude, (1 << 31) - 1))
    return (signed & 0xFFFFFFFF).astype(np.uint32)


def rsqrt(x: U32) -> U32:
    """`frsqrt`: table value of 1 / sqrt(|x|) with a relative error below 1/32; no special values (numerics.md 7.4)."""
    _, exponent, mantissa = _split(x)
    k = (exponent - 127) >> 1
    index = mantissa >> 19
    table = np.where((exponent - 127) & 1 == 1, _RSQRT_ODD[index], _RSQRT_EVEN[index])
    return (((126 - k) << 23) | ((table - 32) << 18)).astype(np.uint32)


def shift_left(x: U32, count: U32) -> U32:
    """`ilsl`: counts are taken modulo 64; from 32 on the result is 0."""
    count = count & np.uint32(63)
    return np.where(count < 32, x << (count & np.uint32(31)), np.uint32(0))


def shift_right(x: U32, count: U32) -> U32:
    """`uilsr`: as `shift_left`, zeros from the left."""
    count = count & np.uint32(63)
    return np.where(count < 32, x >> (count & np.uint32(31)), np.uint32(0))


def shift_right_signed(x: U32, count: U32) -> U32:
    """`ilsr`: copies of the sign from the left."""
    count = np.minimum(count & np.uint32(63), np.uint32(31)).astype(np.int32)
    return (x.view(np.int32) >> count).view(np.uint32)
