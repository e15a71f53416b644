"""Conversion of ordinary floats to block floats: `bfn` and the extended `bfe` (numerics.md 5, 12)."""

from __future__ import annotations

from collections.abc import Sequence

from hw.formats.descriptor import BLOCKS
from hw.formats.exact import rne_shift


def convert(block: Sequence[int], prec: str, length: int, *, extended: bool = False) -> list[int]:
    """Block-float patterns of one block.  `length` is the mantissa length 6..9 of h and ignored for d, f, g."""
    fmt = BLOCKS[prec].element
    m_bits = fmt.mantissa_bits
    significant = length if prec == "h" else BLOCKS[prec].field_bits
    unread = m_bits - significant
    margin = unread if prec == "h" else 0
    fields = [fmt.split(x) for x in block]
    largest = max(exponent for _, exponent, _ in fields)
    if largest == 0:
        return [fmt.join(sign, 0, 0) for sign, _, _ in fields]

    def all_ones(mantissa: int) -> bool:
        return mantissa >> unread == (1 << significant) - 1

    bump = any(exponent == largest and all_ones(mantissa) for _, exponent, mantissa in fields)
    shared = largest + margin + bump
    if shared >= fmt.all_ones:
        return [fmt.join(sign, fmt.all_ones, 0) for sign, _, _ in fields]

    def element(sign: int, exponent: int, mantissa: int) -> int:
        if exponent == 0:
            return fmt.join(sign, 0 if extended else shared, 0)
        significand = (1 << m_bits) + mantissa
        distance = shared - exponent
        if extended and distance >= 6 + margin and not (distance == 6 + margin and all_ones(mantissa)):
            return fmt.join(sign, 0, rne_shift(significand, distance - 5))
        low = 5 if prec == "g" else 0
        q = rne_shift(significand, distance + 1 + low) << low
        return fmt.join(sign, 0 if extended and q == 0 else shared, q)

    return [element(*field) for field in fields]
