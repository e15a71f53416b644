"""Formulas of division, roots, exponential, logarithm and what is made of them, in single precision.

The chip has a table of 1/sqrt (relative error below 1/32) and fused multiply-add; the rest is built here.  Coefficients
are least-squares fits reweighted towards the smallest largest error, rounded to single.  Bounds in units of the last
place (ulp) are held by tests against double precision over all numbers; results below the smallest normal number
are 0, and those within the bound of it may be.  There is no NaN: each formula says what it gives instead.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from compiler.emit.tape import Tape, Val

SIGN, INF, MAGNITUDE, MAX, MIN_NORMAL = 0x80000000, 0x7F800000, 0x7FFFFFFF, 0x7F7FFFFF, 0x00800000
#: Half of the exponent fields of 1.0 twice: less half a field it is the field of a power of two near 1/sqrt.
HALVED = (381 << 23) // 2


def horner(t: Tape, x: Val, coefficients: Sequence[float]) -> Val:
    """The polynomial with these coefficients, the constant one first; x must be the result of the last step."""
    *others, last, top = coefficients
    t.hold(x)
    result = t.fma(x, t.number(top), t.number(last))
    for coefficient in reversed(others):
        result = t.fma(result, x, t.number(coefficient))
    return result


# -- division and roots -----------------------------------------------------------------------------------------------


def _finite(t: Tape, x: Val, table: Val) -> Val:
    """The table's value, or a zero where x is infinite."""
    infinite = t.op("iadd", t.op("iand", x, t.bits(INF)), t.bits(MIN_NORMAL))  # the sign is set for infinities
    return t.op("relu", infinite, table)


def _reciprocal_factors(t: Tape, y: Val) -> tuple[Val, Val]:
    """Two factors of 1/y: one within an ulp, in 1/4..2, and a power of two that has the sign of y.

    The power p is taken from half the exponent, so that p <= 1 <= |y p| for |y| >= 1 and the reverse below: neither
    factor leads out of the range unless 1/y does.  Zeros and infinities come out right by themselves: the table makes
    the first factor infinite for zero and 0 for infinity.
    """
    halved = t.op("uilsr", t.op("iand", y, t.bits(INF)), t.bits(1))
    power = t.op("iand", t.op("isub", t.bits(HALVED), halved), t.bits(INF))
    power = t.op("ior", t.op("iand", t.bits(SIGN), y), power)
    near_one = t.hold(t.mul(y, power))
    s = t.op("rsqrt", near_one)
    start = t.mul(s, s)
    one = t.number(1.0)
    error = t.fma(-near_one, start, one)
    better = t.fma(start, t.fma(error, error, error), start)
    return t.fma(better, t.fma(-near_one, better, one), better), power


def reciprocal(t: Tape, y: Val) -> Val:
    """1 / y within 2 ulp; 1 / 0 is an infinity of its sign, 1 / infinity is 0."""
    first, second = _reciprocal_factors(t, y)
    return t.mul(first, second)


def divide(t: Tape, x: Val, y: Val) -> Val:
    """x / y within 2 ulp; x / 0 is infinite, 0 / 0 and infinity / infinity are 0."""
    first, second = _reciprocal_factors(t, y)
    return t.mul(t.mul(x, first), second)


def square_root(t: Tape, x: Val) -> Val:
    """sqrt(x) within 2 ulp; 0 for negative numbers."""
    x = t.op("relu", x, x)
    s = t.op("rsqrt", x)
    half = t.number(0.5)
    root, h = t.mul(x, s), t.mul(s, half)
    error = t.fma(-root, h, half)
    step = t.fma(t.mul(error, t.number(1.5)), error, error)
    root, h = t.fma(root, step, root), t.fma(h, step, h)
    return t.fma(root, t.fma(-root, h, half), root)


def reciprocal_root(t: Tape, x: Val) -> Val:
    """1 / sqrt(x) within 2 ulp; +infinity for zero and negative numbers, 0 for infinity."""
    x = t.op("relu", x, x)
    s = t.where(t.flag("iand", x, t.bits(INF)), t.bits(INF), _finite(t, x, t.op("rsqrt", x)))
    one = t.number(1.0)
    error = t.fma(-t.mul(x, s), s, one)
    step = t.mul(t.fma(error, t.number(0.375), t.number(0.5)), error)
    y = t.fma(s, step, s)
    error = t.fma(-t.mul(x, y), y, one)
    return t.fma(t.mul(y, t.number(0.5)), error, y)


# -- exponential ------------------------------------------------------------------------------------------------------

LOG2_E = 1.4426950216293335
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.428606765330187e-06
#: exp(r) for |r| <= ln(2) / 2; relative error 3.1e-9.
EXP = (
    1.0,
    1.0,
    0.4999999403953552,
    0.1666652113199234,
    0.04166838899254799,
    0.008368716575205326,
    0.001381459878757596,
)


def exponential(t: Tape, x: Val) -> Val:
    """exp(x) within 2 ulp, exactly 1 for 0; infinite from 88.73 on, 0 below -87.34.

    exp(x) = 2**k exp(r) with k the nearest integer to x / ln 2; k is added to the exponent field.  Clipped to -88..89,
    the field stays in 0..255, and the last step turns 0 into zero and 255 into infinity.
    """
    x = t.op("min", t.op("max", x, t.number(-88.0)), t.number(89.0))
    k = t.op("floor", t.fma(x, t.number(LOG2_E), t.number(0.5)))
    result = horner(t, t.fma(-k, t.number(LN2_LOW), t.fma(-k, t.number(LN2_HIGH), x)), EXP)
    shift = t.op("ilsl", t.op("ftoi", k), t.bits(23))
    return t.op("vpassa", t.op("iadd", shift, result))


def sigmoid(t: Tape, x: Val) -> Val:
    """1 / (1 + exp(-x)) within 3 ulp."""
    return reciprocal(t, t.add(exponential(t, t.op("ixor", t.bits(SIGN), x)), t.number(1.0)))


#: (tanh(x) / x - 1) / x**2 as a polynomial in x**2 for |x| <= 0.625; relative error of tanh 4.4e-9.
TANH = (-0.3333328068256378, 0.13331441581249237, -0.05373971536755562, 0.02063908614218235, -0.005704986862838268)


def hyperbolic_tangent(t: Tape, x: Val) -> Val:
    """tanh(x) within 3 ulp: a polynomial below 0.625, else 1 - 2 / (exp(2 |x|) + 1) with the sign of x."""
    size = t.op("iand", x, t.bits(MAGNITUDE))
    one = t.number(1.0)
    inverse = reciprocal(t, t.add(exponential(t, t.add(size, size)), one))
    large = t.fma(-inverse, t.number(2.0), one)
    large = t.op("ior", t.op("iand", t.bits(SIGN), x), large)
    square = t.mul(x, x)
    small = horner(t, square, TANH)
    small = t.mul(small, square)
    return t.op("vfma", small, x, x, where=t.flag("min", size, t.number(0.625)), otherwise=large)


# -- logarithm --------------------------------------------------------------------------------------------------------

HALF_ROOT = 0x3F3504F3  # sqrt(1/2)
#: (log(1 + f) - f + f**2 / 2) / f**3 for sqrt(1/2) <= 1 + f <= sqrt(2); error relative to the logarithm 7.5e-10.
LOG = (
    0.3333331346511841,
    -0.25000008940696716,
    0.2000211924314499,
    -0.1666799634695053,
    0.14219552278518677,
    -0.1240558922290802,
    0.11888162046670914,
    -0.11675652116537094,
    0.06746640056371689,
)


def logarithm(t: Tape, x: Val) -> Val:
    """ln(x) within 2 ulp; -infinity for zero and negative numbers, +infinity for infinity.

    x = 2**e m with m between sqrt(1/2) and sqrt(2); e becomes a number in the mantissa of 1.5 * 2**23.
    """
    offset = t.op("isub", x, t.bits(HALF_ROOT))
    exponent = t.op("iadd", t.op("ilsr", offset, t.bits(23)), t.bits(0x4B400000))
    mantissa = t.op("isub", x, t.op("iand", offset, t.bits(0xFF800000)))
    e, f = t.add(exponent, -t.number(12582912.0)), t.add(mantissa, -t.number(1.0))
    tail = t.mul(horner(t, f, LOG), f)
    square = t.mul(f, f)
    tail = t.mul(square, tail)
    tail = t.fma(square, t.number(-0.5), t.fma(e, t.number(LN2_LOW), tail))
    positive = t.flag("max", x, t.bits(MIN_NORMAL))
    lowest = t.op("lpassa", t.bits(SIGN | INF))
    result = t.op("vfma", e, t.number(LN2_HIGH), t.add(tail, f), where=positive, otherwise=lowest)
    return t.where(t.flag("max", x, t.bits(INF)), t.bits(INF), result)


# -- error function ---------------------------------------------------------------------------------------------------

#: erf(x) / x - 1 as a polynomial in x**2 for |x| <= 0.9375; relative error 1.9e-8.
ERF = (
    0.12837915122509003,
    -0.37612468004226685,
    0.11281552165746689,
    -0.02675703540444374,
    0.00497913034632802,
    -0.0005919418763369322,
)
#: log(1 - erf(x)) for 0.92 <= x <= 4; error of erf 1.6e-9.
ERFC = (
    -0.00019567539857234806,
    -1.1276756525039673,
    -0.6371822357177734,
    -0.10393159836530685,
    0.02222692035138607,
    -0.003043217584490776,
    0.00019593726028688252,
)


def error_function(t: Tape, x: Val) -> Val:
    """erf(x) within 3 ulp: a polynomial below 0.9375, else 1 - exp(polynomial) with the sign of x."""
    size = t.op("iand", x, t.bits(MAGNITUDE))
    one = t.number(1.0)
    rest = exponential(t, horner(t, t.op("min", size, t.number(4.0)), ERFC))
    large = t.op("ior", t.op("iand", t.bits(SIGN), x), t.add(one, -rest))
    small = horner(t, t.mul(x, x), ERF)
    return t.op("vfma", small, x, x, where=t.flag("min", size, t.number(0.9375)), otherwise=large)


def gelu(t: Tape, x: Val) -> Val:
    """x / 2 (1 + erf(x / sqrt(2))); the sum cancels for negative x, where the error is within 2**-23 of |x|."""
    share = t.add(error_function(t, t.mul(x, t.number(0.7071067690849304))), t.number(1.0))
    return t.mul(t.mul(x, t.number(0.5)), share)


def gelu_tanh(t: Tape, x: Val) -> Val:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))."""
    cube = t.mul(t.mul(x, x), x)
    inner = t.mul(t.fma(cube, t.number(0.044714998453855515), x), t.number(0.7978845834732056))
    return t.mul(t.mul(x, t.number(0.5)), t.add(hyperbolic_tangent(t, inner), t.number(1.0)))


def silu(t: Tape, x: Val) -> Val:
    """x sigmoid(x)."""
    return t.mul(x, sigmoid(t, x))


def softplus(t: Tape, x: Val) -> Val:
    """ln(1 + exp(x)) as max(x, 0) + ln(1 + exp(-|x|)); small results are within 2**-23 of 1, not of themselves."""
    size = t.op("ior", t.bits(SIGN), x)
    rest = logarithm(t, t.add(exponential(t, size), t.number(1.0)))
    return t.add(t.op("max", x, t.bits(0)), rest)


def elu(t: Tape, x: Val, alpha: float) -> Val:
    """x, or alpha (exp(x) - 1) where x is negative; the difference is within 2**-24 of alpha."""
    scale = t.nearest(alpha)
    low = t.fma(exponential(t, x), scale, -scale)
    return t.where(t.flag("max", x, t.bits(0)), x, low)


# -- powers -----------------------------------------------------------------------------------------------------------

MOST_FACTORS = 64


def power(t: Tape, x: Val, y: Val) -> Val:
    """x**y.

    Constant whole exponents up to 64 are products, 0.5, -0.5 and -1 roots and reciprocal; otherwise exp(y ln x), whose
    error grows to |y ln x| / 2 ulp and which takes negative x as 0.
    """
    if y.number in t.constants:
        exponent = struct.unpack("<f", struct.pack("<I", t.constants[y.number]))[0]
        if exponent in _ROOTS:
            return _ROOTS[exponent](t, x)
        if exponent == int(exponent) and 0 < abs(exponent) <= MOST_FACTORS:
            product = _product(t, x, abs(int(exponent)))
            return product if exponent > 0 else reciprocal(t, product)
    return exponential(t, t.mul(logarithm(t, x), y))


def _product(t: Tape, x: Val, count: int) -> Val:
    """x multiplied `count` times by itself, by squaring."""
    if count == 1:
        return x
    half = _product(t, x, count // 2)
    square = t.mul(half, half)
    return t.mul(square, x) if count % 2 else square


_ROOTS = {0.5: square_root, -0.5: reciprocal_root}
