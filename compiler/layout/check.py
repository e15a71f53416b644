"""Whether the digits of one level form a layout: inside the level's size and one-to-one (compiler.md R3, R6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.layout.errors import LayoutError
from compiler.layout.levels import Level
from compiler.layout.terms import Broadcast, SubAxis


def check_level(level: Level, subaxes: Sequence[SubAxis], broadcast: Sequence[Broadcast], members: int | None) -> None:
    """Raise LayoutError unless the digits of `level` reach distinct positions below `members` (None = no bound).

    `broadcast` holds the entries of `B@[...]` that name the level.
    """
    whole = [entry for entry in broadcast if entry.extent is None]
    if len(whole) > 1 or (whole and len(broadcast) > 1):
        raise LayoutError(f"{level} is listed more than once in B@[{','.join(map(str, broadcast))}]")
    split = [sub for sub in subaxes if sub.extent > 1]
    if whole and split:
        raise LayoutError(
            f"{level} is split by {split[0]} and also listed as a whole in B@[...]; drop one of them, or list only "
            f"the copied members, as in B@[2_{level}:1]"
        )
    copies = [SubAxis(entry.extent, level, entry.stride) for entry in broadcast if entry.extent is not None]
    digits = [*subaxes, *copies]
    spelled = ", ".join(map(str, digits))
    last = sum(digit.span for digit in digits)
    if members is not None and last >= members:
        raise LayoutError(
            f"{spelled}: reaches position {last} of {level}, whose {members} members end at {members - 1}"
        )
    if not one_to_one(digits):
        raise LayoutError(f"{spelled}: several elements fall on one position of {level}; its digits must not overlap")


def one_to_one(digits: Sequence[SubAxis]) -> bool:
    """True when every combination of digits has its own position."""
    reach = 0
    for digit in sorted((digit for digit in digits if digit.extent > 1), key=lambda digit: digit.stride):
        if digit.stride <= reach:
            break
        reach += digit.span
    else:
        return True  # each stride lies beyond everything the smaller ones reach
    # Interleaved digits such as 3:2 with 2:3 can still be distinct: count the positions.
    if math.prod(digit.extent for digit in digits) > 1 + sum(digit.span for digit in digits):
        return False
    positions = np.zeros(1, dtype=np.int64)
    for digit in digits:
        positions = np.add.outer(positions, np.arange(digit.extent) * digit.stride).ravel()
    return bool(np.unique(positions).size == positions.size)
