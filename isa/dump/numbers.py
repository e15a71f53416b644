"""How dump lines print values: C `%g` of the machine's number formats (isa.md 14.2, numerics.md 1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ldexp


@dataclass(frozen=True, slots=True)
class Format:
    """A number format inside a long word.  `low` bits at the end of the field are ignored (pseudo single)."""

    bits: int
    exponent_bits: int
    low: int = 0
    name: str = ""

    @property
    def mantissa_bits(self) -> int:
        """Length of the stored fraction."""
        return self.bits - 1 - self.exponent_bits

    def exponent(self, raw: int) -> int:
        """The exponent field."""
        return raw >> self.mantissa_bits & ((1 << self.exponent_bits) - 1)

    def split(self, lw: int, bits: int = 64) -> list[int]:
        """The elements of the leading `bits` of a long word (given as an integer of that size), first element first."""
        mask = (1 << self.bits) - 1
        return [lw >> bits - self.bits * (i + 1) & mask for i in range(bits // self.bits)]


DOUBLE = Format(64, 11, name="LongWords")
SINGLE = Format(32, 8, name="SingleWords")
PSEUDO = Format(32, 8, 5, name="PseudoSingleWords")
HALF = Format(16, 6, name="HalfWords")
FORMATS = {"d": DOUBLE, "f": SINGLE, "g": PSEUDO, "h": HALF}


def _finish(negative: bool, value: float) -> str:
    return f"{'-' if negative else ''}{value:g}"


def ordinary(raw: int, form: Format) -> str:
    """Value with hidden bit; exponent 0 prints as zero, all ones as infinity, whatever the fraction."""
    m = form.mantissa_bits
    negative = bool(raw >> form.bits - 1)
    e = form.exponent(raw)
    if e == 0:
        return _finish(negative, 0.0)
    if e == (1 << form.exponent_bits) - 1:
        return _finish(negative, float("inf"))
    bias = (1 << form.exponent_bits - 1) - 1
    return _finish(negative, ldexp(1 << m | raw & ((1 << m) - 1), e - bias - m))


def block(raw: int, form: Format, exponent: int) -> str:
    """Value without hidden bit at the block's exponent; fields with exponent 0 in another block weigh 2**-6."""
    m = form.mantissa_bits
    negative = bool(raw >> form.bits - 1)
    if exponent == 0:
        return _finish(negative, 0.0)
    if form.exponent(raw) == (1 << form.exponent_bits) - 1:
        return _finish(negative, float("inf"))
    bias = (1 << form.exponent_bits - 1) - 1
    field = raw & ((1 << m) - 1) & ~((1 << form.low) - 1)
    extended = 6 if form.exponent(raw) == 0 else 0
    return _finish(negative, ldexp(field, exponent - bias - (m - 1) - extended))
