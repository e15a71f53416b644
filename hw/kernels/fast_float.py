"""Pieces of the fast multiply-add kernels: the aligned addend, the infinities, the final rounding (numerics.md 2, 3).

All work on 16 elements of 32 bits (or two times eight doubles) at once and give the bits of `hw.kernels.mau_single`.
"""

from __future__ import annotations

from hw.formats.multiply_add import Alignment
from hw.kernels.fast_ir import F32, F64, I32, I64, Vec

SIGN, MANTISSA, HIDDEN, INFINITY = 0x80000000, 0x7FFFFF, 0x800000, 0x7F800000
_LOWEST = (1023 - 126) << 52
# Doubles below 2**-126 - 2**-151 round to a single below 2**-126 in unbounded exponents, so they become 0.
_FLUSH = _LOWEST - (1 << 27)


def exponent(x: Vec) -> Vec:
    """Exponent field of singles."""
    return x >> 23 & 255


def aligned(z: Vec, field: Vec, distance: Vec, rule: Alignment) -> Vec:
    """The addend z (exponent `field`), rounded to odd at the unit of the rule, as a single pattern; +0 when dropped.

    `distance` = product exponent - addend exponent where there is a finite product that is not 0; else anything <= 0.
    The sum of the cut significand and its sticky unit is at most 2**24, so adding it to the exponent carries correctly.
    """
    cut = (distance - (rule.unit - 23)).max(0).min(24)
    significand = z & MANTISSA | HIDDEN
    unit = z.code.vector(I32, z.type.count, 1) << cut
    below = unit - 1
    inexact = (significand & below).compare("!=", 0)
    kept = inexact.select(significand & (below ^ -1) | unit, significand)
    pattern = z + (kept - significand)
    alive = field.compare("!=", 0) & distance.compare("<", rule.drop_addend)
    return alive.select(pattern, 0)


def infinite_sum(result: Vec, p_infinite: Vec, p_sign: Vec, z: Vec, z_infinite: Vec) -> Vec:
    """`result`, or the infinity of an infinite product or addend; opposite signs give +infinity (numerics.md 2.2)."""
    z_sign = z & SIGN
    alone = z_infinite.select(p_sign & z_sign, p_sign)
    infinity = p_infinite.select(alone, z_sign) | INFINITY
    return (p_infinite | z_infinite).select(infinity, result)


def round_odd(p: Vec, w: Vec) -> Vec:
    """Bits of p + w (doubles) rounded to odd: two-sum, then one unit towards the error when the last bit is 0.

    The step is +1 when sum and error have the same sign.  An error needs a sum that is not 0.
    """
    s = p + w
    rounded = s - p
    error = (p - (s - rounded)) + (w - rounded)
    pattern = s.bits(I64)
    step = (error.bits(I64) ^ pattern).ashr(63) | 1
    wrong = error.compare("!=", 0.0) & (pattern & 1).compare("==", 0)
    return pattern + wrong.select(step, 0)


def round_single(pattern: Vec) -> Vec:
    """Bits of doubles, exact or rounded to odd -> single patterns as float32 vector; too small ones give +0."""
    small = (pattern & 0x7FFFFFFFFFFFFFFF).compare("<", _FLUSH)
    return small.select(pattern ^ pattern, pattern).bits(F64).cast("fptrunc", F32)


def halves(x: Vec) -> tuple[Vec, Vec]:
    """Lower and upper half of a vector."""
    count = x.type.count // 2
    return x.lanes(range(count)), x.lanes(range(count, 2 * count))


def joined(low: Vec, high: Vec) -> Vec:
    """Inverse of `halves`."""
    return low.lanes(range(2 * low.type.count), high)


def doubles(x: Vec) -> tuple[Vec, Vec]:
    """16 single patterns -> two vectors of eight doubles."""
    low, high = halves(x.bits(F32))
    return low.cast("fpext", F64), high.cast("fpext", F64)
