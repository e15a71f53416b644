"""Long words and the elements in them, most significant element first (isa.md 0.4)."""

from __future__ import annotations

from collections.abc import Sequence

LW_MASK = (1 << 64) - 1


def split(long_word: int, bits: int) -> list[int]:
    """Return the 64/bits unsigned elements of a long word, most significant first."""
    mask = (1 << bits) - 1
    return [(long_word >> shift) & mask for shift in range(64 - bits, -1, -bits)]


def join(elements: Sequence[int], bits: int) -> int:
    """Pack elements, most significant first, into one long word; missing trailing elements are 0."""
    out = 0
    for position, element in enumerate(elements):
        out |= (element & ((1 << bits) - 1)) << (64 - bits * (position + 1))
    return out


def spread_flags(flags: Sequence[int], bits: int) -> int:
    """Four flag bits of a long word from one flag per element (isa.md 4.5): each element owns bits/16 of the four."""
    out = 0
    for flag in flags:
        for _ in range(bits // 16):
            out = (out << 1) | flag
    return out
