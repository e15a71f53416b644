"""Formulas of the element-wise operators: what they do in terms of MAU and ALU, recorded on a tape.

Each takes the tape and one value per operand and returns the result.  Truth values are the integers 1 and 0.
"""

from __future__ import annotations

from compiler.emit.tape import Flag, Tape, Val


def add(t: Tape, x: Val, y: Val) -> Val:
    """x + y."""
    return t.add(x, y)


def sub(t: Tape, x: Val, y: Val) -> Val:
    """x - y."""
    return t.add(x, -y)


def mul(t: Tape, x: Val, y: Val) -> Val:
    """x * y."""
    return t.mul(x, y)


def add_int(t: Tape, x: Val, y: Val) -> Val:
    """x + y, wrapping."""
    return t.op("iadd", x, y)


def sub_int(t: Tape, x: Val, y: Val) -> Val:
    """x - y, wrapping."""
    return t.op("isub", x, y)


def relu(t: Tape, x: Val) -> Val:
    """x, or -0 where the sign is set (isa.md 11.5)."""
    return t.op("relu", x, x)


def negate(t: Tape, x: Val) -> Val:
    """The sign bit flipped, of zeros too."""
    return t.op("ixor", t.bits(t.form.sign), x)


def negate_int(t: Tape, x: Val) -> Val:
    """0 - x, wrapping."""
    return t.op("isub", t.bits(0), x)


def absolute(t: Tape, x: Val) -> Val:
    """The sign bit cleared."""
    return t.op("iand", x, t.bits(t.form.magnitude))


def absolute_int(t: Tape, x: Val) -> Val:
    """max(-x, x); the smallest integer stays."""
    return t.op("imax", t.op("isub", t.bits(0), x), x)


def maximum(t: Tape, *values: Val) -> Val:
    """The largest, with its bits (isa.md 11.4)."""
    return _chain(t, "max", values)


def minimum(t: Tape, *values: Val) -> Val:
    """The smallest, with its bits."""
    return _chain(t, "min", values)


def maximum_int(t: Tape, *values: Val) -> Val:
    """The largest integer."""
    return _chain(t, "imax", values)


def minimum_int(t: Tape, *values: Val) -> Val:
    """The smallest integer."""
    return _chain(t, "imin", values)


def _chain(t: Tape, op: str, values: tuple[Val, ...]) -> Val:
    result, *others = values
    for value in others:
        result = t.op(op, result, value)
    return result


# -- comparisons: the flags of max and min are exact also for zeros, infinities and tiny differences ------------------


def truth(t: Tape, flag: Flag) -> Val:
    """1 (or what else the tape says) where the flag is set, else 0."""
    return t.op("lpassa", t.bits(t.holds), flush=flag)


def _not(t: Tape, flag: Flag) -> Val:
    return t.op("ixor", truth(t, flag), t.bits(t.holds))


def equal(t: Tape, x: Val, y: Val) -> Val:
    """x == y; zeros of both signs are equal."""
    return truth(t, t.flag("min", x, y, where=t.flag("max", x, y)))


def at_least(t: Tape, x: Val, y: Val) -> Val:
    """x >= y."""
    return truth(t, t.flag("max", x, y))


def at_most(t: Tape, x: Val, y: Val) -> Val:
    """x <= y."""
    return truth(t, t.flag("min", x, y))


def less(t: Tape, x: Val, y: Val) -> Val:
    """x < y."""
    return _not(t, t.flag("max", x, y))


def greater(t: Tape, x: Val, y: Val) -> Val:
    """x > y."""
    return _not(t, t.flag("min", x, y))


def equal_int(t: Tape, x: Val, y: Val) -> Val:
    """x == y."""
    return truth(t, t.flag("ixor", x, y))


def at_least_int(t: Tape, x: Val, y: Val) -> Val:
    """x >= y."""
    return truth(t, t.flag("imax", x, y))


def at_most_int(t: Tape, x: Val, y: Val) -> Val:
    """x <= y."""
    return truth(t, t.flag("imin", x, y))


def less_int(t: Tape, x: Val, y: Val) -> Val:
    """x < y."""
    return _not(t, t.flag("imax", x, y))


def greater_int(t: Tape, x: Val, y: Val) -> Val:
    """x > y."""
    return _not(t, t.flag("imin", x, y))


def both(t: Tape, x: Val, y: Val) -> Val:
    """x and y."""
    return t.op("iand", x, y)


def either(t: Tape, x: Val, y: Val) -> Val:
    """x or y."""
    return t.op("ior", x, y)


def differ(t: Tape, x: Val, y: Val) -> Val:
    """x exclusive-or y."""
    return t.op("ixor", x, y)


def invert(t: Tape, x: Val) -> Val:
    """not x."""
    return t.op("ixor", x, t.bits(1))


def complement(t: Tape, x: Val) -> Val:
    """Every bit flipped."""
    return t.op("ixor", x, t.bits(0xFFFFFFFF))


def where(t: Tape, condition: Val, x: Val, y: Val) -> Val:
    """x where the condition is not 0, else y."""
    otherwise = t.op("lpassa", x)
    return t.where(t.flag("ipassa", condition), y, otherwise)


# -- conversions ------------------------------------------------------------------------------------------------------


def copy(t: Tape, x: Val) -> Val:
    """x."""
    return t.op("lpassa", x)


def float_to_int(t: Tape, x: Val) -> Val:
    """Toward zero, clipped to 32 bit."""
    return t.op("ftoi", x)


def int_to_float(t: Tape, x: Val) -> Val:
    """The nearest single of a signed integer.

    There is no such instruction: both 16-bit parts enter the mantissa of 2**23 by OR and leave it by a subtraction,
    which is exact; high * 65536 + low rounds once.  The high part is biased by 2**15 to be unsigned.
    """
    carrier = t.bits(0x4B000000)
    biased = t.op("uilsr", t.op("ixor", t.bits(0x80000000), x), t.bits(16))
    high = t.add(t.op("ior", biased, carrier), -t.number(8388608.0 + 32768.0))
    low = t.add(t.op("ior", t.op("iand", x, t.bits(0xFFFF)), carrier), -t.number(8388608.0))
    return t.fma(high, t.number(65536.0), low)


def truth_to_float(t: Tape, x: Val) -> Val:
    """1.0 for 1, 0.0 for 0."""
    return t.op("iand", t.op("isub", t.bits(0), x), t.number(1.0))


def float_to_truth(t: Tape, x: Val) -> Val:
    """1 where the exponent field is not 0, that is for every number but zero."""
    return _not(t, t.flag("iand", x, t.bits(t.form.exponent)))


def int_to_truth(t: Tape, x: Val) -> Val:
    """1 for every integer but 0."""
    return _not(t, t.flag("ipassa", x))


def double_to_int(t: Tape, x: Val) -> Val:
    """Toward zero, clipped to 32 bit, in both words."""
    whole = t.op("imin", t.op("imax", t.op("ftoi", x), t.bits(-(2**31) & 2**64 - 1)), t.bits(2**31 - 1))
    low = t.op("iand", whole, t.bits(0xFFFFFFFF))
    return t.op("ior", t.op("ilsl", low, t.bits(32)), low)


def int_to_double(t: Tape, x: Val) -> Val:
    """A signed integer that fills both words: biased by 2**31 it enters the mantissa of 2**52 and leaves it exactly."""
    biased = t.op("ixor", t.op("iand", x, t.bits(0xFFFFFFFF)), t.bits(0x80000000))
    return t.add(t.op("ior", biased, t.bits(0x433 << 52)), -t.number(2.0**52 + 2.0**31))


def truth_to_double(t: Tape, x: Val) -> Val:
    """1.0 for 1, 0.0 for 0, in both words."""
    return t.op("lpassa", t.number(1.0), flush=t.flag("imax", x, t.bits(t.form.truth)))


# -- rounding, clipping and piecewise linear functions ----------------------------------------------------------------


def floor(t: Tape, x: Val) -> Val:
    """The largest integer not above x."""
    return t.op("floor", x)


def ceil(t: Tape, x: Val) -> Val:
    """The smallest integer not below x."""
    return negate(t, t.op("floor", negate(t, x)))


def round_even(t: Tape, x: Val) -> Val:
    """The nearest integer, ties to even: the sum with 2**23 or 2**52 has no fraction, nor has x from there on."""
    size = absolute(t, x)
    whole = t.number(t.form.whole)
    rounded = t.add(t.add(size, whole), -whole)
    rounded = t.op("lpassa", size, where=t.flag("max", size, whole), otherwise=rounded)
    return t.op("ior", t.op("iand", t.bits(t.form.sign), x), rounded)


def sign(t: Tape, x: Val) -> Val:
    """1, -1 or 0."""
    unit = t.op("ior", t.op("iand", t.bits(t.form.sign), x), t.number(1.0))
    return t.op("lpassa", unit, flush=t.flag("max", absolute(t, x), t.bits(t.form.smallest)))


def sign_int(t: Tape, x: Val) -> Val:
    """1, -1 or 0."""
    return t.op("imax", t.op("imin", x, t.bits(1)), t.bits(0xFFFFFFFF))


def clip(t: Tape, x: Val, low: Val | None = None, high: Val | None = None) -> Val:
    """min(max(x, low), high)."""
    x = x if low is None else t.op("max", x, low)
    return x if high is None else t.op("min", x, high)


def clip_int(t: Tape, x: Val, low: Val | None = None, high: Val | None = None) -> Val:
    """min(max(x, low), high)."""
    x = x if low is None else t.op("imax", x, low)
    return x if high is None else t.op("imin", x, high)


def leaky_relu(t: Tape, x: Val, alpha: float) -> Val:
    """x, or alpha x where x is negative."""
    scaled = t.mul(x, t.nearest(alpha))
    if 0 <= alpha <= 1:
        return t.op("max", x, scaled)
    return t.where(t.flag("max", x, t.bits(0)), x, scaled)


def prelu(t: Tape, x: Val, slope: Val) -> Val:
    """x, or slope x where x is negative."""
    return t.where(t.flag("max", x, t.bits(0)), x, t.mul(x, slope))


def hard_sigmoid(t: Tape, x: Val, alpha: float, beta: float) -> Val:
    """alpha x + beta within 0..1."""
    return clip(t, t.fma(x, t.nearest(alpha), t.nearest(beta)), t.bits(0), t.number(1.0))


def hard_swish(t: Tape, x: Val) -> Val:
    """x times x / 6 + 1/2 within 0..1."""
    return t.mul(x, hard_sigmoid(t, x, 1 / 6, 0.5))


def total(t: Tape, *values: Val) -> Val:
    """The sum, from the first operand on."""
    result, *others = values
    for value in others:
        result = t.add(result, value)
    return result


# -- integer products -------------------------------------------------------------------------------------------------

LIMBS = ((0, 0x7FF), (11, 0x7FF), (22, 0x3FF))


def mul_int(t: Tape, x: Val, y: Val) -> Val:
    """x * y modulo 2**32.

    There is no integer multiplier: limbs of 11 bits become numbers whose products and their sums are exact in the MAU.
    """
    a, b = _limbs(t, x), _limbs(t, y)
    low = t.op("ftoi", t.mul(a[0], b[0]))
    middle = t.op("ilsl", t.op("ftoi", t.fma(a[1], b[0], t.mul(a[0], b[1]))), t.bits(11))
    low = t.op("iadd", middle, low)
    high = t.fma(a[2], b[0], t.fma(a[1], b[1], t.mul(a[0], b[2])))
    return t.op("iadd", t.op("ilsl", t.op("ftoi", high), t.bits(22)), low)


def _limbs(t: Tape, x: Val) -> list[Val]:
    """Bits 0..10, 11..21 and 22..31 as numbers."""
    if x.number in t.constants:
        pattern = t.constants[x.number]
        return [t.number(float(pattern >> shift & mask)) for shift, mask in LIMBS]
    found = []
    for shift, mask in LIMBS:
        part = t.op("uilsr", x, t.bits(shift)) if shift else x
        part = t.op("iand", part, t.bits(mask)) if shift < 22 else part
        found.append(t.add(t.op("ior", part, t.bits(0x4B000000)), -t.number(8388608.0)))
    return found
