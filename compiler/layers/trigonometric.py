"""Formulas of sine and cosine in single precision: what is left of the argument after quarter turns, and a polynomial.

Constants of the three parts of pi / 2 have few bits, so that products with the number of quarter turns are exact.
"""

from __future__ import annotations

from compiler.emit.tape import Tape, Val
from compiler.layers.transcendental import horner

_QUARTERS = 0.6366197466850281
_PARTS = (1.5703125, 4.837512969970703125e-4, 7.549790126404332e-08)
#: Minimax polynomials in the square of the rest, of (sin r - r) / r**3 and (cos r - 1 + r**2 / 2) / r**4.
_SINE = (-0.16666655242443085, 0.008332161232829094, -0.00019515295571181923)
_COSINE = (0.04166664555668831, -0.0013887316454201937, 2.44331567955669e-05)
_FARTHEST = 0.800000011920929


def _turned(t: Tape, x: Val, quarters: int) -> Val:
    """sin(x + quarters * pi / 2)."""
    half = t.number(0.5)
    count = t.op("floor", t.fma(x, t.number(_QUARTERS), half))
    rest = x
    for part in _PARTS:
        rest = t.fma(-count, t.number(part), rest)
    # Far out, where singles have no fraction, the rest is only kept within its range.
    rest = t.op("max", t.op("min", rest, t.number(_FARTHEST)), t.number(-_FARTHEST))
    square = t.mul(rest, rest)
    sine = t.fma(t.mul(horner(t, square, _SINE), square), rest, rest)
    small = t.mul(horner(t, square, _COSINE), square)
    cosine = t.fma(small, square, t.fma(square, -half, t.number(1.0)))
    turn = t.op("ftoi", count)
    turn = t.op("iadd", turn, t.bits(quarters)) if quarters else turn
    result = t.where(t.flag("iand", turn, t.bits(1)), sine, cosine)
    return t.op("ixor", t.op("ilsl", t.op("iand", turn, t.bits(2)), t.bits(30)), result)


def sine(t: Tape, x: Val) -> Val:
    """sin(x) within 2**-22 for |x| below 2**13; farther out a number within -1..1."""
    return _turned(t, x, 0)


def cosine(t: Tape, x: Val) -> Val:
    """cos(x), as `sine`."""
    return _turned(t, x, 1)
