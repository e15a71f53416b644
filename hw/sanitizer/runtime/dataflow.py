"""States of the result of an ALU or MAU operation from the states of its operands.

Arrays are states (see `states`) in lanes, [2 long words] of [l1][c][p][m] or what broadcasts to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.kernels.modifiers import NARROW_RAW, WIDEN
from hw.program import Source
from hw.sanitizer.runtime.families import Family, Flow
from hw.sanitizer.runtime.states import HALVES_TO_WORDS, KNOWN, WHOLE, WORD_TO_LW, words_to_halves

U8 = NDArray[np.uint8]
_WIDENING = {kernel: lanes for (lanes, _), kernel in WIDEN.items()}
_PE_AXIS = 2
ALL, HIGH_WORD, NOTHING = 15, 12, 0
_FULL = np.full((1, 1, 1, 1), KNOWN)


@dataclass(frozen=True, slots=True)
class Pair:
    """States of both long words."""

    lw0: U8
    lw1: U8


KNOWN_PAIR = Pair(_FULL, _FULL)


def transformed(pair: Pair, source: Source) -> Pair:
    """Behind the input modifiers `e`, `r` and `-`."""
    for kernel in source.transforms:
        lanes = _WIDENING.get(kernel)
        if kernel is NARROW_RAW:
            pair = Pair(words_to_halves(pair.lw0, pair.lw1), _FULL)
        elif lanes == "f":
            pair = Pair(WORD_TO_LW[pair.lw0], _FULL)
        elif lanes is not None:
            pair = Pair(HALVES_TO_WORDS[0][pair.lw0], HALVES_TO_WORDS[1][pair.lw0] if lanes == "h4" else _FULL)
    return pair


def used_bits(family: Family, number: int, source: Source, width: int) -> tuple[int, int]:
    """Half words of LW0 and LW1 of source `number` that the result depends on, before the input modifiers.

    width: words of the result that anything receives (a copy uses no more than that).
    """
    for kernel in source.transforms:
        if kernel is NARROW_RAW:
            return ALL, ALL
        if kernel in _WIDENING:
            return ALL if _WIDENING[kernel] == "h4" else HIGH_WORD, NOTHING
    if family.flow is Flow.COPY:
        return HIGH_WORD if width == 1 else ALL, ALL if width == 4 else NOTHING
    if family.flow is Flow.BLOCK and family.wide:
        return ALL, ALL
    if family.wide and number == family.accumulator:
        return ALL, ALL
    if family.first_word and number == 0:
        return HIGH_WORD, NOTHING
    return ALL, NOTHING


def _all_pes(state: U8) -> U8:
    """A state that every PE of the MAB shares: what all four have."""
    return np.bitwise_and.reduce(state, axis=_PE_AXIS, keepdims=True)


def result(family: Family, pairs: list[Pair]) -> Pair:
    """States of the result; `pairs` are the operands behind their modifiers."""
    if not pairs:
        return KNOWN_PAIR
    first = pairs[0]
    match family.flow:
        case Flow.COPY:
            return first
        case Flow.LEFT:
            return Pair(np.roll(first.lw0, 1, axis=_PE_AXIS), _FULL)
        case Flow.RIGHT:
            return Pair(np.roll(first.lw0, -1, axis=_PE_AXIS), _FULL)
        case Flow.BLOCK:
            lw0 = _all_pes(WHOLE[family.bits][first.lw0])
            return Pair(lw0, _all_pes(WHOLE[64][first.lw1]) if family.wide else _FULL)
        case Flow.MATRIX:
            lw0 = first.lw0 | np.uint8(0x33) if family.first_word else first.lw0
            vector = _all_pes(WHOLE[64][lw0])
            return _narrowed(family, _accumulate(family, Pair(vector, vector), pairs))
        case Flow.HALF_VECTOR:
            found = KNOWN_PAIR
            for number, pair in enumerate(pairs):
                if number != family.accumulator:
                    words = Pair(HALVES_TO_WORDS[0][pair.lw0], HALVES_TO_WORDS[1][pair.lw0])
                    found = Pair(found.lw0 & words.lw0, found.lw1 & words.lw1)
            return _narrowed(family, _accumulate(family, found, pairs))
        case _:
            lw0 = _FULL
            for pair in pairs:
                lw0 = lw0 & WHOLE[family.bits][pair.lw0]
            if family.flow is Flow.VECTOR:
                return Pair(WHOLE[64][lw0] if family.narrow else lw0, _FULL)
            return Pair(lw0, first.lw1)


def _accumulate(family: Family, product: Pair, pairs: list[Pair]) -> Pair:
    """Add the accumulator-type source."""
    if not 0 <= family.accumulator < len(pairs):
        return product if family.wide else Pair(product.lw0, _FULL)
    added = pairs[family.accumulator]
    bits = 32 if family.wide else family.bits
    lw1 = product.lw1 & WHOLE[bits][added.lw1] if family.wide else _FULL
    return Pair(product.lw0 & WHOLE[bits][added.lw0], lw1)


def _narrowed(family: Family, pair: Pair) -> Pair:
    if not family.narrow:
        return pair
    return Pair(words_to_halves(pair.lw0, pair.lw1) if family.wide else WHOLE[64][pair.lw0], _FULL)
