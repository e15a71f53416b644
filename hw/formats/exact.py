"""Exact numbers n * 2**k with infinities, and the rounding of every MAU and RRN result (numerics.md 2, 12)."""

from __future__ import annotations

from typing import NamedTuple

from hw.formats.descriptor import FloatFormat


class Exact(NamedTuple):
    """The number n * 2**k, or an infinity when `inf` is +1 or -1."""

    n: int
    k: int
    inf: int = 0

    @property
    def is_zero(self) -> bool:
        """True for the number zero."""
        return self.n == 0 and self.inf == 0


ZERO = Exact(0, 0)
PLUS_INFINITY = Exact(0, 0, 1)
MINUS_INFINITY = Exact(0, 0, -1)


def rne_shift(n: int, shift: int) -> int:
    """n / 2**shift for n >= 0, rounded to nearest even; a negative shift multiplies."""
    if shift <= 0:
        return n << -shift
    quotient = n >> shift
    rest = n - (quotient << shift)
    half = 1 << (shift - 1)
    if rest > half or (rest == half and quotient & 1):
        quotient += 1
    return quotient


def number(pattern: int, fmt: FloatFormat) -> Exact:
    """Value of an ordinary float: exponent field 0 is zero, all ones is infinity (numerics.md 1.1)."""
    sign, exponent, mantissa = fmt.split(pattern)
    if exponent == 0:
        return ZERO
    if exponent == fmt.all_ones:
        return MINUS_INFINITY if sign else PLUS_INFINITY
    significand = (1 << fmt.mantissa_bits) + mantissa
    return Exact(-significand if sign else significand, exponent - fmt.bias - fmt.mantissa_bits)


def add(a: Exact, b: Exact) -> Exact:
    """a + b; infinities of different sign give +infinity (numerics.md 2.2)."""
    if a.inf and b.inf:
        return a if a.inf == b.inf else PLUS_INFINITY
    if a.inf or b.inf:
        return a if a.inf else b
    k = min(a.k, b.k)
    return Exact((a.n << (a.k - k)) + (b.n << (b.k - k)), k)


def round_odd(value: Exact, unit: int) -> Exact:
    """Finite value as a multiple of 2**unit: truncated, last bit set when anything was cut (numerics.md 3.5)."""
    cut = unit - value.k
    if cut <= 0:
        return value
    magnitude = abs(value.n)
    kept = magnitude >> cut
    if kept << cut != magnitude:
        kept |= 1
    return Exact(-kept if value.n < 0 else kept, unit)


def encode(value: Exact, fmt: FloatFormat) -> int:
    """Round once to nearest even with unbounded exponent; then overflow is infinity, underflow +0 (numerics.md 2.1)."""
    sign = 1 if value.inf < 0 or value.n < 0 else 0
    if value.inf:
        return fmt.join(sign, fmt.all_ones, 0)
    if value.n == 0:
        return 0
    magnitude = abs(value.n)
    excess = magnitude.bit_length() - 1 - fmt.mantissa_bits
    exponent = value.k + excess + fmt.mantissa_bits
    significand = rne_shift(magnitude, excess)
    if significand == 1 << (fmt.mantissa_bits + 1):
        significand >>= 1
        exponent += 1
    if exponent + fmt.bias >= fmt.all_ones:
        return fmt.join(sign, fmt.all_ones, 0)
    if exponent + fmt.bias <= 0:
        return 0
    return fmt.join(sign, exponent + fmt.bias, significand - (1 << fmt.mantissa_bits))
