"""Text of `f` and `h` immediates -> bit patterns (numerics.md 10): C library syntax, one rounding to single."""

from __future__ import annotations

import re
from fractions import Fraction

from hw.formats.descriptor import SINGLE
from hw.formats.errors import LiteralError
from hw.formats.exact import rne_shift
from hw.formats.precision import raw_narrow

_DECIMAL = re.compile(r"(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?$", re.IGNORECASE)
_HEX = re.compile(r"0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p([+-]?\d+))?$", re.IGNORECASE)
_NAN = re.compile(r"nan(?:\(([0-9a-z_]*)\))?$", re.IGNORECASE)
_PAYLOAD = re.compile(r"(?:0x[0-9a-f]+|\d+)$", re.IGNORECASE)
# Beyond these decimal exponents a single is infinite or zero whatever the digits (texts are at most a line long).
_EXPONENT_LIMIT = 5000


def single_literal(text: str) -> int:
    """Bits of the single nearest to `text`; overflow gives infinity, -0 and `nan` are kept.

    A denormal keeps its mantissa *normalised* under exponent field 0, as the vendor's assembler does: 1e-40 is
    000B6100. Raises LiteralError when the text is no C floating-point number.
    """
    sign = 1 if text[:1] == "-" else 0
    body = text[1:] if text[:1] in ("+", "-") else text
    if body.lower() in ("inf", "infinity"):
        return SINGLE.join(sign, SINGLE.all_ones, 0)
    nan = _NAN.match(body)
    if nan:
        payload = int(nan[1], 0 if nan[1][:2].lower() == "0x" else 10) if nan[1] and _PAYLOAD.match(nan[1]) else 0
        return SINGLE.join(sign, SINGLE.all_ones, 1 << 22 | payload & ((1 << 22) - 1))
    return (sign << 31) | _nearest(_magnitude(body, text))


def half_literal(text: str) -> int:
    """Bits of an `h` literal: `single_literal` narrowed by the raw rule: rounded twice, clamped exponent."""
    return raw_narrow(single_literal(text))


def _magnitude(body: str, text: str) -> Fraction:
    decimal, hexadecimal = _DECIMAL.match(body), _HEX.match(body)
    if decimal:
        exponent = max(-_EXPONENT_LIMIT, min(int(decimal[2] or 0), _EXPONENT_LIMIT))
        whole, _, fraction = decimal[1].partition(".")
        return Fraction(int(whole + fraction or "0")) * Fraction(10) ** (exponent - len(fraction))
    if hexadecimal:
        exponent = max(-_EXPONENT_LIMIT, min(int(hexadecimal[2] or 0), _EXPONENT_LIMIT))
        whole, _, fraction = hexadecimal[1].partition(".")
        return Fraction(int(whole + fraction, 16)) * Fraction(2) ** (exponent - 4 * len(fraction))
    raise LiteralError(
        f'"{text}" is no floating-point literal; expected one such as 1.5, -2e-3, 0x1p3, inf or nan, no spaces'
    )


def _nearest(value: Fraction) -> int:
    """Positive value -> single pattern, rounded once to nearest even."""
    if value == 0:
        return 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent, 1 - SINGLE.bias) - SINGLE.mantissa_bits
    scaled = value / Fraction(2) ** unit
    # One bit more than the quotient, then a sticky bit: enough for the nearest-even decision.
    doubled = scaled.numerator * 2 // scaled.denominator
    sticky = doubled * scaled.denominator != scaled.numerator * 2
    significand = rne_shift(doubled << 1 | sticky, 2)
    if significand < 1 << SINGLE.mantissa_bits:
        return _denormal(significand)
    pattern = significand + ((unit + SINGLE.bias + SINGLE.mantissa_bits - 1) << SINGLE.mantissa_bits)
    return min(pattern, SINGLE.join(0, SINGLE.all_ones, 0))


def _denormal(significand: int) -> int:
    """Mantissa field of a denormal of `significand` units of 2**-149, normalised."""
    if significand == 0:
        return 0
    normal = significand << (SINGLE.mantissa_bits + 1 - significand.bit_length())
    return normal - (1 << SINGLE.mantissa_bits)
