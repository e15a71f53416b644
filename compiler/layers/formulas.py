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
    return t.op("ixor", t.bits(0x80000000), x)


def negate_half(t: Tape, x: Val) -> Val:
    """As `negate`."""
    return t.op("ixor", x, t.bits(0x80008000))


def negate_int(t: Tape, x: Val) -> Val:
    """0 - x, wrapping."""
    return t.op("isub", t.bits(0), x)


def absolute(t: Tape, x: Val) -> Val:
    """The sign bit cleared."""
    return t.op("iand", x, t.bits(0x7FFFFFFF))


def absolute_half(t: Tape, x: Val) -> Val:
    """As `absolute`."""
    return t.op("iand", x, t.bits(0x7FFF7FFF))


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
    """1 where the flag is set, else 0."""
    return t.op("lpassa", t.bits(1), flush=flag)


def _not(t: Tape, flag: Flag) -> Val:
    return t.op("ixor", truth(t, flag), t.bits(1))


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
    return _not(t, t.flag("iand", x, t.bits(0x7F800000)))


def int_to_truth(t: Tape, x: Val) -> Val:
    """1 for every integer but 0."""
    return _not(t, t.flag("ipassa", x))
