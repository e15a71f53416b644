"""Formulas of division, roots, exponential, logarithm and what is made of them, in single and double precision; the
error function in single precision only.

The chip has a table of 1/sqrt (relative error below 1/32) and fused multiply-add; the rest is built here.  Bounds in
units of the last place (ulp) are held by tests against a wider precision over all numbers; results below the smallest
normal number are 0, and those within the bound of it may be.  There is no NaN: each formula says what it gives instead.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from compiler.emit.tape import Tape, Val
from compiler.layers.transcendental_tables import TABLES


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
    field = t.op("iand", x, t.bits(t.form.exponent))
    infinite = t.op("iadd", field, t.bits(t.form.smallest))  # the sign is set for infinities
    return t.op("relu", infinite, table)


def _reciprocal_factors(t: Tape, y: Val) -> tuple[Val, Val]:
    """Two factors of 1/y: one within an ulp, in 1/4..2, and a power of two that has the sign of y.

    The power p is taken from half the exponent, so that p <= 1 <= |y p| for |y| >= 1 and the reverse below: neither
    factor leads out of the range unless 1/y does.  Zeros and infinities come out right by themselves: the table makes
    the first factor infinite for zero and 0 for infinity.
    """
    infinity = t.bits(t.form.exponent)
    halved = t.op("uilsr", t.op("iand", y, infinity), t.bits(1))
    # Half of three times the field of 1.0: less half a field it is the field of a power of two near 1/sqrt.
    power = t.op("iand", t.op("isub", t.bits(3 * t.form.one // 2), halved), infinity)
    power = t.op("ior", t.op("iand", t.bits(t.form.sign), y), power)
    near_one = t.hold(t.mul(y, power))
    s = t.op("rsqrt", near_one)
    better = t.mul(s, s)
    one = t.number(1.0)
    for _ in range(TABLES[t.prec].rounds):
        error = t.fma(-near_one, better, one)
        better = t.fma(better, t.fma(error, error, error), better)
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
    for _ in range(TABLES[t.prec].rounds):
        error = t.fma(-root, h, half)
        step = t.fma(t.mul(error, t.number(1.5)), error, error)
        root, h = t.fma(root, step, root), t.fma(h, step, h)
    return t.fma(root, t.fma(-root, h, half), root)


def reciprocal_root(t: Tape, x: Val) -> Val:
    """1 / sqrt(x) within 2 ulp; +infinity for zero and negative numbers, 0 for infinity."""
    x = t.op("relu", x, x)
    infinity = t.bits(t.form.exponent)
    y = t.where(t.flag("iand", x, infinity), infinity, _finite(t, x, t.op("rsqrt", x)))
    one = t.number(1.0)
    for _ in range(TABLES[t.prec].rounds):
        error = t.fma(-t.mul(x, y), y, one)
        step = t.mul(t.fma(error, t.number(0.375), t.number(0.5)), error)
        y = t.fma(y, step, y)
    error = t.fma(-t.mul(x, y), y, one)
    return t.fma(t.mul(y, t.number(0.5)), error, y)


# -- exponential ------------------------------------------------------------------------------------------------------

def exponential(t: Tape, x: Val) -> Val:
    """exp(x) within 2 ulp, exactly 1 for 0; infinite from 88.73 (709.79) on, 0 below -87.34 (-708.39).

    exp(x) = 2**k exp(r) with k the nearest integer to x / ln 2; k is added to the exponent field.  Clipped to -88..89
    (-709..710), the field does not wrap, and the last step turns 0 into zero and all ones into infinity.
    """
    of = TABLES[t.prec]
    x = t.op("min", t.op("max", x, t.number(of.lowest)), t.number(of.highest))
    k = t.op("floor", t.fma(x, t.number(of.log2_e), t.number(0.5)))
    result = horner(t, t.fma(-k, t.number(of.ln2_low), t.fma(-k, t.number(of.ln2_high), x)), of.exp)
    shift = t.op("ilsl", t.op("ftoi", k), t.bits(of.mantissa))
    return t.op("vpassa", t.op("iadd", shift, result))


def sigmoid(t: Tape, x: Val) -> Val:
    """1 / (1 + exp(-x)) within 3 ulp."""
    return reciprocal(t, t.add(exponential(t, t.op("ixor", t.bits(t.form.sign), x)), t.number(1.0)))


def hyperbolic_tangent(t: Tape, x: Val) -> Val:
    """tanh(x) within 3 ulp: a polynomial below 0.625, else 1 - 2 / (exp(2 |x|) + 1) with the sign of x."""
    size = t.op("iand", x, t.bits(t.form.magnitude))
    one = t.number(1.0)
    inverse = reciprocal(t, t.add(exponential(t, t.add(size, size)), one))
    large = t.fma(-inverse, t.number(2.0), one)
    large = t.op("ior", t.op("iand", t.bits(t.form.sign), x), large)
    square = t.mul(x, x)
    small = horner(t, square, TABLES[t.prec].tanh)
    small = t.mul(small, square)
    return t.op("vfma", small, x, x, where=t.flag("min", size, t.number(0.625)), otherwise=large)


# -- logarithm --------------------------------------------------------------------------------------------------------

def logarithm(t: Tape, x: Val) -> Val:
    """ln(x) within 2 ulp; -infinity for zero and negative numbers, +infinity for infinity.

    x = 2**e m with m between sqrt(1/2) and sqrt(2); e becomes a number in the mantissa of 1.5 * 2**23 (2**52).
    """
    of, infinity = TABLES[t.prec], t.form.exponent
    carrier = t.number(1.5 * t.form.whole)
    offset = t.op("isub", x, t.bits(of.half_root))
    exponent = t.op("iadd", t.op("ilsr", offset, t.bits(of.mantissa)), carrier)
    mantissa = t.op("isub", x, t.op("iand", offset, t.bits(t.form.sign | infinity)))
    e, f = t.add(exponent, -carrier), t.add(mantissa, -t.number(1.0))
    tail = t.mul(horner(t, f, of.log), f)
    square = t.mul(f, f)
    tail = t.mul(square, tail)
    tail = t.fma(square, t.number(-0.5), t.fma(e, t.number(of.ln2_low), tail))
    positive = t.flag("max", x, t.bits(t.form.smallest))
    lowest = t.op("lpassa", t.bits(t.form.sign | infinity))
    result = t.op("vfma", e, t.number(of.ln2_high), t.add(tail, f), where=positive, otherwise=lowest)
    return t.where(t.flag("max", x, t.bits(infinity)), t.bits(infinity), result)


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
    size = t.op("iand", x, t.bits(t.form.magnitude))
    one = t.number(1.0)
    rest = exponential(t, horner(t, t.op("min", size, t.number(4.0)), ERFC))
    large = t.op("ior", t.op("iand", t.bits(t.form.sign), x), t.add(one, -rest))
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
    size = t.op("ior", t.bits(t.form.sign), x)
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
        exponent = struct.unpack(t.form.pack, t.constants[y.number].to_bytes(t.form.width // 8, "little"))[0]
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
