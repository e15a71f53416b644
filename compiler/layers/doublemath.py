"""NumPy model of the chip's double-precision vector arithmetic, on raw bits of whole arrays (numerics.md 2, 3, 7).

Written from the rules and not from the kernels.  All arguments and results are uint64 arrays of double patterns (or of
64-bit integers where a function says so); arguments broadcast as NumPy does.  Products and sums are made of pairs of
float64 numbers whose exact sum is meant (error-free transformations), near exponent 0 where nothing can overflow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIGN = np.uint64(1 << 63)
INF = np.uint64(0x7FF << 52)
ONE = np.uint64(0x3FF << 52)
_MAGNITUDE = np.uint64((1 << 63) - 1)
_MANTISSA = np.uint64((1 << 52) - 1)
_SHIFT = np.uint64(52)
LOW = np.uint64(0xFFFF)
STAND_IN = 1 << 30
_SPLITTER = float((1 << 27) + 1)
_RSQRT_EVEN = np.array([63, 62, 60, 58, 57, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45], np.int64)
_RSQRT_ODD = np.array([45, 43, 42, 41, 40, 39, 38, 37, 36, 36, 35, 34, 34, 33, 33, 32], np.int64)


@dataclass(frozen=True)
class Adder:
    """Widths of the adder (numerics.md 3.5, 6.1), in binary places from the sum of the factors' exponents.

    no_product: an addend this far above makes the product zero; no_addend: one this far below counts as zero; else it
    is rounded to odd at `unit` places below.
    """

    no_product: int
    no_addend: int
    unit: int


VECTOR = Adder(55, 90, 88)


def exponent_field(bits: U64) -> I64:
    """The exponent field."""
    return ((bits & INF) >> _SHIFT).astype(np.int64)


def numbers(bits: U64) -> F64:
    """The significands, 1..2 without sign."""
    return np.ascontiguousarray(bits & _MANTISSA | ONE).view(np.float64)


def two_sum(a: F64, b: F64) -> tuple[F64, F64]:
    """a + b rounded, and the rest."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _two_product(a: F64, b: F64) -> tuple[F64, F64]:
    """a * b rounded, and the rest, by splitting both into halves of 26 bits."""
    product = a * b
    parts = []
    for x in (a, b):
        high = x * _SPLITTER - (x * _SPLITTER - x)
        parts.append((high, x - high))
    (ah, al), (bh, bl) = parts
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def odd_sum(a: F64, b: F64) -> F64:
    """a + b rounded to odd: a later rounding to fewer bits, or of a larger sum, is that of the exact value."""
    total, rest = two_sum(a, b)
    even = (total.view(np.int64) & 1) == 0
    away = np.sign(rest) == np.sign(total)
    odd = np.nextafter(total, np.where(away, np.copysign(np.inf, total), np.copysign(0.0, total)))
    return np.where((rest != 0) & even, odd, total)


def _jammed(z: F64, below: I64) -> F64:
    """z in 1..2 with all bits from `below` binary places after the point on replaced by one set bit if any was set."""
    cut = np.clip(52 - below, 0, 52).astype(np.uint64)
    bits = np.ascontiguousarray(z).view(np.uint64)
    kept = bits >> cut << cut
    jammed = np.where(kept != bits, kept | np.uint64(1) << cut, bits).view(np.float64)
    return np.where(below < 0, np.ldexp(1.0, np.clip(-below, 0, 100)), jammed)


def scaled(value: F64, exponent: I64) -> U64:
    """value * 2**exponent of a value whose own exponent is small: overflow is infinity, underflow +0."""
    fraction, own = np.frexp(value)
    field = own + exponent - 1 + 1023
    mantissa = np.ascontiguousarray(fraction).view(np.uint64) & _MANTISSA
    sign = np.ascontiguousarray(value).view(np.uint64) & SIGN
    bits = np.clip(field, 0, 2047).astype(np.uint64) << _SHIFT | mantissa | sign
    bits = np.where(field >= 2047, INF | sign, bits)
    return np.where((value == 0) | (field <= 0), np.uint64(0), bits)


def nearest(product: tuple[F64, F64], exponent: I64, product_zero: Mask, z: U64, adder: Adder) -> U64:
    """The double nearest to (high + low) * 2**exponent + z, finite; high + low of the product is about 1 and exact."""
    above = exponent_field(z) - 1023 - exponent
    addend_zero = exponent_field(z) == 0
    both = ~product_zero & ~addend_zero
    no_product = product_zero | (both & (above >= adder.no_product))
    no_addend = addend_zero | (both & (-above >= adder.no_addend))
    aligned = np.where(both, _jammed(numbers(z), above + adder.unit), numbers(z))
    # In units of 2**exponent, or of the addend where there is no product.
    high, low = (np.where(no_product, 0.0, part) for part in product)
    place = np.where(no_product, 0, np.clip(above, -adder.no_addend, adder.no_product))
    addend = np.where(no_addend, 0.0, np.ldexp(np.where(z & SIGN != 0, -aligned, aligned), place))
    near, far = two_sum(addend, low)
    top, rest = two_sum(high, near)
    return scaled(top + odd_sum(rest, far), np.where(no_product, exponent_field(z) - 1023, exponent))


def fma(x: U64, y: U64, z: U64) -> U64:
    """`dvfma`: x * y + z with omitted partial products, finite addend alignment and one rounding."""
    x, y, z = np.broadcast_arrays(x, y, z)
    ex, ey = exponent_field(x), exponent_field(y)
    product_zero = (ex == 0) | (ey == 0)
    product_inf, addend_inf = ((ex == 2047) | (ey == 2047)) & ~product_zero, exponent_field(z) == 2047
    sign = (x ^ y) & SIGN
    high, low = _two_product(numbers(x), numbers(y))
    dropped = ((x & LOW) * (y & LOW)).astype(np.int64)
    omitted = np.where(dropped != 0, STAND_IN - dropped, 0)
    high, low = two_sum(high, low + np.ldexp(omitted.astype(np.float64), -104))
    minus = np.where(sign != 0, -1.0, 1.0)
    result = nearest((minus * high, minus * low), ex + ey - 2046, product_zero, z, VECTOR)
    both_signs = np.where(product_inf & addend_inf, sign & z, np.where(product_inf, sign, z)) & SIGN
    return np.where(product_inf | addend_inf, both_signs | INF, result)


def circuit(parts: U64) -> U64:
    """One `dfadd` circuit over axis 0 of at most 16 inputs (numerics.md 4.2): three guard bits, one rounding."""
    field, negative = exponent_field(parts), parts & SIGN != 0
    top = field.max(axis=0)
    significand = (parts & _MANTISSA | np.uint64(1) << _SHIFT).astype(np.int64) << 3
    shift = np.minimum(top - field, 62)
    kept = significand >> shift
    rest = significand - (kept << shift)
    half = (np.int64(1) << shift) >> 1
    kept += (shift > 0) & ((rest > half) | ((rest == half) & (kept & 1 == 1)))
    total = np.where(field == 0, 0, np.where(negative, -kept, kept)).sum(axis=0)
    result = scaled(total.astype(np.float64), top - 1023 - 55)
    infinite = field == 2047
    result = np.where((infinite & negative).any(axis=0), SIGN | INF, result)
    return np.where((infinite & ~negative).any(axis=0), INF, result)


_ZERO = np.array(0, np.uint64)


def mul(x: U64, y: U64) -> U64:
    """`dvmul`: x * y."""
    return fma(x, y, _ZERO)


def add(x: U64, y: U64) -> U64:
    """`dvadd`: x * 1 + y."""
    return fma(x, np.array(ONE), y)


def normalise(x: U64) -> U64:
    """`dvpassa`: denormal patterns and -0 become +0, infinities lose their mantissa."""
    return fma(x, np.array(ONE), _ZERO)


def _order(x: U64) -> I64:
    """Sign-magnitude order in which all patterns of exponent 0 are equal (isa.md 11.4)."""
    magnitude = np.where(x & INF == 0, np.uint64(0), x & _MAGNITUDE).astype(np.int64)
    return np.where(x & SIGN != 0, -magnitude, magnitude)


def at_least(x: U64, y: U64) -> Mask:
    """The flag of `dmax`: x >= y."""
    return np.asarray(_order(x) >= _order(y))


def at_most(x: U64, y: U64) -> Mask:
    """The flag of `dmin`: x <= y."""
    return np.asarray(_order(x) <= _order(y))


def maximum(x: U64, y: U64) -> U64:
    """`dmax`: bits of the larger, of x when equal."""
    return np.where(at_least(x, y), x, y)


def minimum(x: U64, y: U64) -> U64:
    """`dmin`: bits of the smaller, of x when equal."""
    return np.where(at_most(x, y), x, y)


def relu(x: U64, y: U64) -> U64:
    """`drelu`: y where the sign of x is clear, else -0."""
    return np.where(x & SIGN == 0, y, SIGN)


def floor(x: U64) -> U64:
    """`dfloor`: largest integer value not above x; patterns of exponent 0 and infinities pass unchanged."""
    field = exponent_field(x)
    usual = (field != 0) & (field < 2047)
    numbers = np.where(usual, x, np.uint64(0)).view(np.float64)
    return np.where(usual, np.floor(numbers).view(np.uint64), x)


def to_integer(x: U64) -> U64:
    """`dftoi`: signed 64-bit integer toward zero, clipped; infinities clip, exponent 0 gives 0."""
    field, negative = exponent_field(x), x & SIGN != 0
    significand = (x & _MANTISSA | np.uint64(1) << _SHIFT).astype(np.int64)
    shift = field - 1023 - 52
    magnitude = np.where(shift >= 0, significand << np.clip(shift, 0, 10), significand >> np.clip(-shift, 0, 63))
    magnitude = np.where(field == 0, 0, magnitude)
    limit = np.where(negative, np.int64(-(2**63)), np.int64(2**63 - 1))
    return np.where(field >= 1023 + 63, limit, np.where(negative, -magnitude, magnitude)).view(np.uint64)


def rsqrt(x: U64) -> U64:
    """`drsqrt`: table value of 1 / sqrt(|x|) with a relative error below 1/32; no special values (numerics.md 7.4)."""
    exponent = exponent_field(x) - 1023
    index = ((x & _MANTISSA) >> np.uint64(48)).astype(np.int64)
    table = np.where(exponent & 1 == 1, _RSQRT_ODD[index], _RSQRT_EVEN[index])
    return (((1022 - (exponent >> 1)) << 52) | ((table - 32) << 47)).astype(np.uint64)


def shift_left(x: U64, count: U64) -> U64:
    """`llsl`: counts are taken modulo 128; from 64 on the result is 0."""
    count = count & np.uint64(127)
    return np.where(count < 64, x << (count & np.uint64(63)), np.uint64(0))


def shift_right(x: U64, count: U64) -> U64:
    """`ullsr`: as `shift_left`, zeros from the left."""
    count = count & np.uint64(127)
    return np.where(count < 64, x >> (count & np.uint64(63)), np.uint64(0))


def shift_right_signed(x: U64, count: U64) -> U64:
    """`llsr`: copies of the sign from the left."""
    count = np.minimum(count & np.uint64(127), np.uint64(63)).astype(np.int64)
    return (x.view(np.int64) >> count).view(np.uint64)
