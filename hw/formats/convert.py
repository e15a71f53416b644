"""Vectorised NumPy conversions between host floats and half 1-6-9 (numerics.md 2.1, 8), for compilers and hosts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hw.formats.descriptor import HALF
from hw.formats.errors import FormatError

_INFINITY = HALF.join(0, HALF.all_ones, 0)


def to_half_bits(values: ArrayLike) -> NDArray[np.uint16]:
    """float32 or float64 array -> half patterns of the same shape, by value.

    Rounds once to nearest even with unbounded exponent; overflow, infinities and NaN (which the chip does not have)
    become infinity of that sign; results below 2**-30 become +0, also from -0.  Raises FormatError for other dtypes.
    """
    array = np.asarray(values)
    if array.dtype == np.float32:
        return _round(array.view(np.uint32), 23, 8)
    if array.dtype == np.float64:
        return _round(array.view(np.uint64), 52, 11)
    raise FormatError(
        f"half conversion takes float32 or float64, got {array.dtype}; convert with .astype(np.float32) first"
    )


def _round(bits: NDArray[Any], m_bits: int, e_bits: int) -> NDArray[np.uint16]:
    """Patterns of a wider IEEE format -> half patterns."""
    unsigned = bits.dtype.type
    cut = m_bits - HALF.mantissa_bits
    sign = bits >> unsigned(m_bits + e_bits)
    magnitude = bits & unsigned((1 << (m_bits + e_bits)) - 1)
    odd = (magnitude >> unsigned(cut)) & unsigned(1)
    rounded = ((magnitude + unsigned((1 << (cut - 1)) - 1) + odd) >> unsigned(cut)).astype(np.int64)
    rebias = ((1 << (e_bits - 1)) - 1 - HALF.bias) << HALF.mantissa_bits
    half = np.minimum(rounded - rebias, _INFINITY)
    signed = half | (sign.astype(np.int64) << (HALF.bits - 1))
    return np.where(half < 1 << HALF.mantissa_bits, 0, signed).astype(np.uint16)


def from_half_bits(patterns: ArrayLike) -> NDArray[np.float32]:
    """Half patterns (uint16) -> float32 of the same shape, exact; exponent 0 is a signed zero, all ones an infinity."""
    bits = np.asarray(patterns, np.uint16).astype(np.uint32)
    exponent = (bits >> np.uint32(HALF.mantissa_bits)) & np.uint32(HALF.all_ones)
    sign = (bits >> np.uint32(15)) << np.uint32(31)
    finite = ((bits & np.uint32(0x7FFF)) + np.uint32((127 - HALF.bias) << HALF.mantissa_bits)) << np.uint32(14)
    magnitude = np.where(exponent == HALF.all_ones, np.uint32(0x7F800000), finite)
    return (np.where(exponent == 0, np.uint32(0), magnitude) | sign).view(np.float32)


def round_to_half(values: ArrayLike) -> NDArray[np.float32]:
    """The nearest half of every value, as float32: what a tensor looks like after a trip through the chip."""
    return from_half_bits(to_half_bits(values))
