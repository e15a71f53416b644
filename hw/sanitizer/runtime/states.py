"""Arithmetic on states of long words: one byte each, low four bits = half words that are defined, high four = written.

*Written*: something was stored there, be it data from an undefined place.  *Defined*: the content does not come from a
place that nothing has written.  Bit 3 (or 7) stands for the most significant half word.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

U8 = NDArray[np.uint8]
KNOWN = np.uint8(0xFF)


def _lut(function: Callable[[int], int]) -> U8:
    """A table over bytes of a function on four bits, applied to both halves of the byte."""
    return np.array([function(x & 15) | function(x >> 4) << 4 for x in range(256)], np.uint8)


def _whole(bits: int) -> Callable[[int], int]:
    """Each element is known if all its half words are."""
    groups = {64: (15,), 32: (12, 3), 16: (8, 4, 2, 1)}[bits]
    return lambda x: sum(group for group in groups if x & group == group)


WHOLE = {bits: _lut(_whole(bits)) for bits in (64, 32, 16)}
"""By element width: states of elements spread over their half words."""

HALVES_TO_WORDS = (
    _lut(lambda x: (x >> 3 & 1) * 12 | (x >> 2 & 1) * 3),
    _lut(lambda x: (x >> 1 & 1) * 12 | (x & 1) * 3),
)
"""The four half words of LW0 become the words of a 2LW (widening h4); the first table alone: those of w0 become LW0."""

WORD_TO_LW = _lut(lambda x: 15 if x & 12 == 12 else 0)
"""The word w0 becomes LW0 (widening f)."""

_WORD_PAIR = _lut(lambda x: (x & 12 == 12) << 1 | (x & 3 == 3))

WORD_FROM_ODD = _lut(lambda x: x << 2 & 12)
"""The odd word of a long word as w0."""

WORD_TO_ODD = _lut(lambda x: x >> 2)
"""w0 as the odd word of a long word."""


def words_to_halves(lw0: U8, lw1: U8) -> U8:
    """Four words of a 2LW become the half words of LW0 (narrowing)."""
    return (_WORD_PAIR[lw0] << 2 | _WORD_PAIR[lw1]).astype(np.uint8)


def any_of(array: NDArray[np.bool_], *axes: int) -> NDArray[np.bool_]:
    """Is any element true along `axes`?  As an array, whatever is left."""
    return np.asarray(array.any(axis=axes))


def unwritten(state: U8, used: int) -> NDArray[np.bool_]:
    """Is any of the `used` half words (four bits) not written?"""
    return (state >> 4 & used) != used


def undefined(state: U8, used: int) -> NDArray[np.bool_]:
    """Is any of the `used` half words not defined?"""
    return (state & used) != used
