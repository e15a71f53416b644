"""The levels a layout distributes elements over, how many members each has, and the place of one element.

Source: compiler.md 5.1 and 5.2 (R2, R3), isa.md 16.3.
"""

from __future__ import annotations

import difflib
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.layout.errors import LayoutError

IntArray = NDArray[np.int64]


class Level(StrEnum):
    """One level; the value is its spelling in a layout text, where `ADDR` (long-word address in LM) has none."""

    PE = "PE"
    W = "W"
    MAB = "MAB"
    L1B = "L1B"
    L2B = "L2B"
    TIME = "Time"
    ADDR = "Addr"

    @property
    def members(self) -> int | None:
        """Number of members, or None where only the value bounds it (Time, Addr).

        For W it is 8, the bytes of a long word; a type narrows it to its own words per long word (R3).
        """
        return _MEMBERS.get(self)


_MEMBERS = {Level.PE: 4, Level.W: 8, Level.MAB: 16, Level.L1B: 8, Level.L2B: 8}

#: Levels that can hold copies, in the order in which `B@[...]` lists them in l3ir.txt.
SPATIAL = (Level.PE, Level.W, Level.MAB, Level.L1B, Level.L2B)

_SPELLED = {str(level): level for level in (*SPATIAL, Level.TIME)}


def level_named(text: str) -> Level:
    """The level spelled `text` in a layout; LayoutError with the nearest spelling when there is none."""
    if text in _SPELLED:
        return _SPELLED[text]
    by_folded = {name.lower(): name for name in _SPELLED}
    near = difflib.get_close_matches(text.lower(), by_folded, n=1, cutoff=0.3)
    hint = f"; did you mean {by_folded[near[0]]!r}?" if near else ""
    raise LayoutError(f"unknown level {text!r}, expected one of {', '.join(_SPELLED)} or none for an address{hint}")


class Place(NamedTuple):
    """Where one element lies: member of each level, `addr` in long words inside LM, `word` 0 = most significant."""

    l2b: int
    l1b: int
    mab: int
    pe: int
    addr: int
    word: int
    time: int


class Places(NamedTuple):
    """Where many elements lie: the fields of `Place` as int64 arrays of one common shape."""

    l2b: IntArray
    l1b: IntArray
    mab: IntArray
    pe: IntArray
    addr: IntArray
    word: IntArray
    time: IntArray


#: The level behind each field of `Place` and `Places`, in field order.
PLACE_LEVELS = (Level.L2B, Level.L1B, Level.MAB, Level.PE, Level.ADDR, Level.W, Level.TIME)
