"""Immediate literals: a type word and a quoted text become 32 bits (isa.md 2.4, numerics.md 10)."""

from __future__ import annotations

import re
from functools import lru_cache

from isa.errors import AsmError, nearest
from isa.numerals import MOST_DIGITS, to_int
from isa.operand import Literal

TYPES = ("f", "h", "i", "ui", "s", "us")
_LITERAL = re.compile(r'([A-Za-z0-9]*)"([^"]*)"')
_INTEGER = re.compile(r"(0x[0-9a-fA-F]+|0b[01]+|0o[0-7]+|0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_HEXFLOAT = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)([pP][+-]?\d+)?")
_SPECIAL = re.compile(r"([+-]?)(?:(inf|infinity)|nan(?:\(([0-9a-z_]*)\))?)", re.IGNORECASE)

_SIGNED_32 = (-(1 << 31), (1 << 31) - 1)
_RANGES = {
    "i": _SIGNED_32,
    "ui": (0, (1 << 32) - 1),
    "s": (-(1 << 15), (1 << 15) - 1),
    "us": (0, (1 << 16) - 1),
}


def _integer(kind: str, text: str) -> int:
    signed = kind in ("i", "s")
    digits = text[1:] if signed and text[:1] in ("+", "-") else text
    if not _INTEGER.fullmatch(digits):
        raise AsmError(
            "literal/text",
            f"`{text}` is not an integer of type `{kind}`",
            expected="decimal without leading zeros, 0x.., 0b.. or 0o.."
            + (" with optional sign" if signed else " without sign"),
        )
    value = to_int(digits)
    if text.startswith("-"):
        value = -value
    low, high = _RANGES[kind]
    if not low <= value <= high:
        raise AsmError("literal/range", f'{kind}"{text}" does not fit its type', expected=f"{low}..{high}")
    return value


def single_bits(text: str) -> int:
    """Bits of the single nearest to the C-style floating text: ties to even, overflow to infinity.

    A denormal keeps exponent field 0 but its mantissa is normalised, as the official assembler writes it
    (`1e-40` is 000B6100).  `nan(5)` puts 5 into the low mantissa bits as the C library does.
    """
    special = _SPECIAL.fullmatch(text)
    if special:
        bits = 0x7F800000 if special[2] else 0x7FC00000 | _payload(special[3] or "")
        return bits | (0x80000000 if special[1] == "-" else 0)
    if _DECIMAL.fullmatch(text):
        return _round_to_single(*_decimal_fraction(text), negative=text.startswith("-"))
    if _HEXFLOAT.fullmatch(text):
        return _round_to_single(*_hex_fraction(text), negative=text.startswith("-"))
    raise AsmError("literal/text", f"`{text}` is not a floating-point text", expected="1.5, 1e-3, 0x1p3, inf or nan")


def _payload(text: str) -> int:
    """Mantissa bits of `nan(text)`: a C integer of any base, 0 when the text is no number."""
    base = 16 if text.lower().startswith("0x") else 8 if text.startswith("0") and len(text) > 1 else 10
    try:
        return int(text, base) & 0x3FFFFF if "_" not in text else 0
    except ValueError:
        return 0


def _decimal_fraction(text: str) -> tuple[int, int]:
    mantissa, _, exponent = text.lower().lstrip("+-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    # Exponents far outside the range of a single give 0 or infinity whatever the digits; clamping keeps integers small.
    text = (whole + fraction).lstrip("0") or "0"
    power = _exponent(exponent) - len(fraction)
    if len(text) > MOST_DIGITS:
        # No single lies between two texts of that many equal digits: one digit stands for all that follow.
        power += len(text) - MOST_DIGITS - 1
        text = text[:MOST_DIGITS] + ("1" if text[MOST_DIGITS:].strip("0") else "0")
    power = max(min(power, 400), -400 - len(text))
    return (int(text) * 10**power, 1) if power >= 0 else (int(text), 10**-power)


def _exponent(text: str) -> int:
    """An exponent; more than nine digits count as the largest number of nine digits."""
    digits = text.lstrip("+-").lstrip("0")
    value = int(digits or 0) if len(digits) <= 9 else 10**9 - 1
    return -value if text.startswith("-") else value


def _hex_fraction(text: str) -> tuple[int, int]:
    mantissa, _, exponent = text.lower().lstrip("+-")[2:].partition("p")
    whole, _, fraction = mantissa.partition(".")
    power = _exponent(exponent) - 4 * len(fraction)
    power = max(min(power, 400), -400 - 4 * len(whole + fraction))
    digits = int((whole + fraction) or "0", 16)
    return (digits << power, 1) if power >= 0 else (digits, 1 << -power)


def _round_to_single(numerator: int, denominator: int, *, negative: bool) -> int:
    """Round a non-negative rational once, to nearest even, keeping denormals."""
    sign = 0x80000000 if negative else 0
    if numerator == 0:
        return sign
    exponent = numerator.bit_length() - denominator.bit_length()
    if (numerator << max(-exponent, 0)) < (denominator << max(exponent, 0)):
        exponent -= 1
    step = max(exponent, -126) - 23
    scaled, unit = (numerator << -step, denominator) if step < 0 else (numerator, denominator << step)
    quotient, rest = divmod(scaled, unit)
    if 2 * rest > unit or (2 * rest == unit and quotient & 1):
        quotient += 1
    if quotient < 1 << 23:
        return sign | (quotient << (24 - quotient.bit_length()) & 0x7FFFFF if quotient else 0)
    # The hidden bit of a normal number carries into the exponent field by the addition.
    bits = ((step + 23 + 126) << 23) + quotient
    return sign | min(bits, 0x7F800000)


def half_from_single(bits: int) -> int:
    """The raw narrowing of numerics.md 8: mantissa rounded, exponent re-biased and clamped, sign kept."""
    sign, exponent, mantissa = bits >> 31, (bits >> 23) & 0xFF, bits & 0x7FFFFF
    quotient, rest = divmod(mantissa, 1 << 14)
    if rest > 1 << 13 or (rest == 1 << 13 and quotient & 1):
        quotient += 1
    carry, quotient = divmod(quotient, 512)
    return sign << 15 | min(max(exponent - 96 + carry, 0), 63) << 9 | quotient


@lru_cache(maxsize=65536)
def parse_literal(text: str) -> Literal:
    """Convert `f"1.0"` and its relatives; raises AsmError literal/type, /quotes, /text, /range."""
    match = _LITERAL.fullmatch(text)
    if not match:
        raise AsmError("literal/quotes", f"`{text}` is no literal", expected='a type and a quoted text such as f"1.0"')
    kind, body = match[1], match[2]
    if kind not in TYPES:
        raise AsmError(
            "literal/type", f"unknown immediate type `{kind}`", expected=", ".join(TYPES), nearest=nearest(kind, TYPES)
        )
    if kind == "f":
        return Literal(text, single_bits(body))
    if kind == "h":
        return Literal(text, half_from_single(single_bits(body)) * 0x10001)
    value = _integer(kind, body)
    return Literal(text, value & 0xFFFFFFFF if kind in ("i", "ui") else (value & 0xFFFF) * 0x10001)


def long_words(bits: int, *, upper: bool) -> tuple[int, int]:
    """The two long words of `imm` (x in all four words) or, with `upper`, of `immu` (x in w0 and w2)."""
    word = bits << 32 if upper else bits << 32 | bits
    return word, word
