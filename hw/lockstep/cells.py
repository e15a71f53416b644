"""`Cells`: the long words that one operand of one line touches, as an index into the array of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.stores import Store, array_of
from hw.state.board import Board

ALL_BITS = 15


@dataclass(frozen=True, slots=True)
class Spot:
    """One cell by name: `place` holds as many of n, c, b, m, p as the store has levels.

    address: 32-bit words for LM and GRF, else long words, rows, entries or cycles.
    """

    store: Store
    place: tuple[int, ...]
    address: int

    def __str__(self) -> str:
        return f"{self.name} of {place_text(self.place)}"

    @property
    def name(self) -> str:
        """Store and address without the place."""
        if self.store.axes == "lpm":
            return self.store.label
        return " ".join(filter(None, (self.store.label, self.store.unit, str(self.address))))


def place_text(place: tuple[int, ...]) -> str:
    """``n0c0b0m0p0`` for as many levels as there are."""
    return "".join(f"{level}{index}" for level, index in zip("ncbmp", place, strict=False))


@dataclass(frozen=True, slots=True)
class Cells:
    """What one operand touches.  `array[index]` has the axes [l][c][p][m] for operands of PEs, [l][row][p][m] for
    matrix registers, [l or q or n][k] otherwise; DRAM: [k] of group `group`.

    places: number of the L1B, L2B or group along the first axis.  address: broadcasts to the indexed shape.  bits:
    touched half words of each long word (8 = most significant), broadcasts likewise.  lw: which long word of the 2LW.
    text: the item.
    """

    store: Store
    write: bool
    index: tuple[Any, ...]
    places: NDArray[np.int64]
    address: NDArray[np.int64]
    bits: NDArray[np.uint8]
    lw: int = 0
    group: int | None = None
    text: str = ""

    def values(self, board: Board) -> NDArray[Any]:
        """A copy of the touched long words as they stand."""
        return np.array(array_of(board, self.store, self.group)[self.index])

    def spot(self, position: tuple[int, ...], shape: tuple[int, ...], per_group: int, l1bs: int) -> Spot:
        """Name of the cell at `position` of the indexed `shape`; per_group, l1bs: L2Bs of a group, L1Bs of an L2B."""
        address = int(np.broadcast_to(self.address, shape)[position])
        if self.store.in_words:
            touched = int(np.broadcast_to(self.bits, shape)[position])
            address = 2 * address + (touched & 12 == 0)
        if self.group is not None:
            return Spot(self.store, (self.group,), address)
        first = int(self.places[position[0]])
        if self.store.axes[0] == "n":
            return Spot(self.store, (first,), address)
        if self.store.axes[0] == "q":
            return Spot(self.store, divmod(first, per_group), address)
        q, b = divmod(first, l1bs)
        place: tuple[int, ...] = (*divmod(q, per_group), b)
        if self.store.axes[-1] == "m":
            place = (*place, position[3], position[2])
        return Spot(self.store, place, address)
