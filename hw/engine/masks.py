"""Write masks in machine form: from four bits to the 64 bits of a long word (isa.md 4.1, 4.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hw.engine.layout import BY_CYCLE, BY_ENTRY

_ONE = np.uint64(1)
_HALF = np.uint64(0xFFFF)
_WORD = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_S16, _S32, _S48 = np.uint64(16), np.uint64(32), np.uint64(48)
_B1, _B2, _B3 = np.uint64(1), np.uint64(2), np.uint64(3)


def halves_mask(bits: Any) -> Any:
    """Default mask: bit 3..0 -> half word 0..3 of a long word, most significant first."""
    high = (bits >> _B3 & _ONE) << _S48 | (bits >> _B2 & _ONE) << _S32
    return (high | (bits >> _B1 & _ONE) << _S16 | (bits & _ONE)) * _HALF


def words_mask_0(bits: Any) -> Any:
    """`ll` mask, LW0: bit 3 -> w0, bit 2 -> w1."""
    return ((bits >> _B3 & _ONE) << _S32 | (bits >> _B2 & _ONE)) * _WORD


def words_mask_1(bits: Any) -> Any:
    """`ll` mask, LW1: bit 1 -> w2, bit 0 -> w3."""
    return ((bits >> _B1 & _ONE) << _S32 | (bits & _ONE)) * _WORD


def lane_mask_0(kind: Any, value: Any, words: Any, masks: Any, lane: Any) -> Any:
    """Write mask of LW0 in lane c*64 + p*16 + m; `masks` points at the mask registers of the L1B."""
    if kind == BY_CYCLE:
        return _ALL if value >> (lane >> 6) & 1 else _NONE
    if kind == BY_ENTRY:
        bits = np.uint64(masks[value * 256 + lane])
        return words_mask_0(bits) if words else halves_mask(bits)
    return _ALL


def lane_mask_1(kind: Any, value: Any, words: Any, masks: Any, lane: Any) -> Any:
    """Write mask of LW1 of a memory access: only `ll` masks reach it (isa.md 19.2)."""
    if not words:
        return _ALL
    if kind == BY_ENTRY:
        return words_mask_1(np.uint64(masks[value * 256 + lane]))
    return lane_mask_0(kind, value, words, masks, lane)
