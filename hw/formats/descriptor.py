"""Bit layouts of the number formats (numerics.md 1): half 1-6-9, single, double and the block floats built on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """An ordinary floating-point format; no denormals, all-ones exponent = infinity, no NaN (numerics.md 1.1)."""

    name: str
    letter: str
    bits: int
    exponent_bits: int
    mantissa_bits: int

    @property
    def bias(self) -> int:
        """Exponent bias B (31, 127, 1023)."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def all_ones(self) -> int:
        """The exponent field that means infinity (63, 255, 2047)."""
        return (1 << self.exponent_bits) - 1

    @property
    def sign_bit(self) -> int:
        """Pattern with only the sign set; also the pattern of -0."""
        return 1 << (self.bits - 1)

    def split(self, pattern: int) -> tuple[int, int, int]:
        """Return (sign, exponent field, mantissa field) of a bit pattern."""
        mantissa = pattern & ((1 << self.mantissa_bits) - 1)
        exponent = (pattern >> self.mantissa_bits) & self.all_ones
        return (pattern >> (self.bits - 1)) & 1, exponent, mantissa

    def join(self, sign: int, exponent: int, mantissa: int) -> int:
        """Inverse of `split`; the fields must be in range."""
        return (sign << (self.bits - 1)) | (exponent << self.mantissa_bits) | mantissa


HALF = FloatFormat("half", "h", 16, 6, 9)
SINGLE = FloatFormat("single", "f", 32, 8, 23)
DOUBLE = FloatFormat("double", "d", 64, 11, 52)

FLOATS: dict[str, FloatFormat] = {"h": HALF, "f": SINGLE, "d": DOUBLE}
NARROWER: dict[str, FloatFormat] = {"f": HALF, "d": SINGLE}
INTEGER_BITS: dict[str, int] = {"l": 64, "i": 32, "s": 16}


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """A block-float format (numerics.md 1.2): `size` elements of layout `element` share an exponent, no hidden bit.

    `field_bits` is the significant length of the mantissa field (18 for pseudo-single, whose low five bits read as 0);
    `terms` the number of products a MAU sums per matrix row (numerics.md 6.1).
    """

    letter: str
    element: FloatFormat
    size: int
    field_bits: int
    terms: int


BLOCKS: dict[str, BlockFormat] = {
    "d": BlockFormat("d", DOUBLE, 4, 52, 4),
    "f": BlockFormat("f", SINGLE, 4, 23, 4),
    "g": BlockFormat("g", SINGLE, 8, 18, 8),
    "h": BlockFormat("h", HALF, 16, 9, 16),
}
