"""`Contents`: numbers for what pieces of a shadow hold, so that equal states are found by comparing integers.

A *piece* is one integer, store and index: a row of 64 PEs in every L1B (LM, GRF, matrix registers), one long word of
a tile (T, latches), or a block of 16 LW in every L1B or L2B (L1BM, turnaround register, L2BM).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.stores import PE_MEMORIES, Store
from hw.sanitizer.runtime.shadow import Shadow

U8 = NDArray[np.uint8]
BLOCK: Final = 16
_INDEX_BITS: Final = 16
_INDEX: Final = (1 << _INDEX_BITS) - 1
_TILES = (Store.T, Store.T_BEFORE, Store.ALUF, Store.MAUF, Store.LBF, Store.MREADF)
_BANKS = (Store.L1BM, Store.TURN, Store.L2BM)
_STORES = (*PE_MEMORIES, Store.MATRIX_X, Store.MATRIX_Y, *_TILES, *_BANKS)
FIRST: Final = {store: code << _INDEX_BITS for code, store in enumerate(_STORES)}
"""By store: its piece 0; others follow."""
_MOST = 4096  # different contents that are kept


class Contents:
    """Numbers of the pieces of one shadow; `full`: so many different states were seen that it is time to `restart`."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self.restart()

    def restart(self) -> None:
        """Forget everything; numbers have a new meaning."""
        self._numbers: list[dict[int, int]] = [{} for _ in _STORES]  # by store: index -> number, where it is known
        self._known: dict[bytes, int] = {}
        self._values: list[U8] = []

    @property
    def full(self) -> bool:
        """Is it time to restart?"""
        return len(self._values) > _MOST

    def numbers(self, pieces: Iterable[int]) -> tuple[int, ...]:
        """What pieces hold."""
        table = self._numbers
        return tuple(
            [
                number if (number := table[piece >> _INDEX_BITS].get(piece & _INDEX)) is not None else self._look(piece)
                for piece in pieces
            ]
        )

    def put(self, pieces: Iterable[int], numbers: Iterable[int]) -> None:
        """Give pieces the states that such numbers stand for."""
        table = self._numbers
        for piece, number in zip(pieces, numbers, strict=True):
            known = table[piece >> _INDEX_BITS]
            if known.get(piece & _INDEX) != number:
                self._view(piece)[...] = self._values[number]
                known[piece & _INDEX] = number

    def drop(self, pieces: Iterable[int]) -> None:
        """Pieces were written; what they hold is looked up when it is asked for."""
        for piece in pieces:
            self._numbers[piece >> _INDEX_BITS].pop(piece & _INDEX, None)

    def forget(self, *stores: Store) -> None:
        """Anything in these stores (none named: in all) may have been written."""
        for code, store in enumerate(_STORES):
            if not stores or store in stores:
                self._numbers[code].clear()

    def _view(self, piece: int) -> U8:
        store, index = _STORES[piece >> _INDEX_BITS], piece & _INDEX
        array = self._shadow[store]
        if store in _BANKS:
            return array[:, index * BLOCK : (index + 1) * BLOCK]
        return array[:, index]

    def _look(self, piece: int) -> int:
        view = self._view(piece)
        content = view.tobytes()
        number = self._known.get(content)
        if number is None:
            number = self._known[content] = len(self._values)
            self._values.append(view.copy())
        self._numbers[piece >> _INDEX_BITS][piece & _INDEX] = number
        return number
