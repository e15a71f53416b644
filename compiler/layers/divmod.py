"""Formulas of integer division and of remainders.

There is no integer divider: quotients come from singles, and what is left over is divided again until it is exact.
"""

from __future__ import annotations

from compiler.emit.tape import Tape, Val
from compiler.errors import UnsupportedOperator
from compiler.layers import formulas as f
from compiler.layers.transcendental import divide


def _sign(t: Tape, x: Val) -> Val:
    """-1 for negative integers, else 0."""
    return t.op("ilsr", x, t.bits(31))


def _with_sign(t: Tape, x: Val, sign: Val) -> Val:
    """x, or -x where the sign is -1."""
    return t.op("isub", t.op("ixor", x, sign), sign)


def _of_sizes(t: Tape, a: Val, b: Val) -> tuple[Val, Val]:
    """(quotient, remainder) of integers that are not negative.

    The first quotient is off by at most 2**9 (singles have 24 bits), the second by one, which the end puts right.
    """
    divisor = f.int_to_float(t, b)
    quotient = t.op("ftoi", divide(t, f.int_to_float(t, a), divisor))
    rest = t.op("isub", a, f.mul_int(t, quotient, b))
    more = t.op("ftoi", divide(t, f.int_to_float(t, rest), divisor))
    quotient = t.op("iadd", quotient, more)
    rest = t.op("isub", rest, f.mul_int(t, more, b))
    below = _sign(t, rest)
    quotient, rest = t.op("iadd", quotient, below), t.op("iadd", rest, t.op("iand", b, below))
    lower = t.op("isub", rest, b)
    fits = _sign(t, lower)
    quotient = t.op("iadd", quotient, t.op("iadd", fits, t.bits(1)))
    return quotient, t.op("iadd", lower, t.op("iand", b, fits))


def divide_int(t: Tape, x: Val, y: Val) -> Val:
    """x / y toward zero, exact; -2**31 and division by zero give no meaningful number."""
    own, other = _sign(t, x), _sign(t, y)
    quotient, _ = _of_sizes(t, _with_sign(t, x, own), _with_sign(t, y, other))
    return _with_sign(t, quotient, t.op("ixor", own, other))


def remainder_int(t: Tape, x: Val, y: Val, fmod: float) -> Val:
    """What x / y leaves over, exact: with the sign of x (`fmod`), or of y."""
    own, other = _sign(t, x), _sign(t, y)
    _, rest = _of_sizes(t, _with_sign(t, x, own), _with_sign(t, y, other))
    rest = _with_sign(t, rest, own)
    if fmod:
        return rest
    # Where the rest is not 0 and its sign is not that of y, y is added.
    negative = t.op("ilsr", t.op("ixor", rest, y), t.bits(31))
    some = _sign(t, t.op("isub", t.bits(0), t.op("imax", rest, t.op("isub", t.bits(0), rest))))
    return t.op("iadd", rest, t.op("iand", y, t.op("iand", negative, some)))


def remainder(t: Tape, x: Val, y: Val, fmod: float) -> Val:
    """What x / y leaves over, with the sign of x; for quotients below 2**22 within two ulp of x.

    ONNX defines Mod of floats with `fmod` only.
    """
    if not fmod:
        raise UnsupportedOperator("Mod of floats: only fmod=1 is defined")
    size, divisor = f.absolute(t, x), f.absolute(t, y)
    quotient = t.op("floor", divide(t, size, divisor))
    rest = t.fma(-quotient, divisor, size)
    # The quotient of two numbers that nearly divide may be one too large or one too small.
    below = t.flag("min", rest, t.bits(t.form.sign | t.form.smallest))
    rest = t.add(rest, t.op("lpassa", divisor, flush=below))
    rest = t.add(rest, -t.op("lpassa", divisor, flush=t.flag("max", rest, divisor)))
    return t.op("ior", t.op("iand", t.bits(t.form.sign), x), f.absolute(t, rest))
