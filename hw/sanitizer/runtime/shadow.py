"""`Shadow`: a state byte for every long word of a board (see `states`), lazily committed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.regions import BLOCK
from hw.lockstep.stores import PE_MEMORIES, Store, array_of
from hw.sanitizer.runtime.area import Area
from hw.sanitizer.runtime.states import KNOWN
from hw.state.board import Board

U8 = NDArray[np.uint8]
_TILES = (Store.T, Store.T_BEFORE, Store.ALUF, Store.MAUF, Store.LBF, Store.MREADF)
_ON_CHIP = (*PE_MEMORIES, Store.T, Store.L1BM, Store.L2BM, Store.TURN, Store.MATRIX_X, Store.MATRIX_Y, Store.DAR)
_FIRST_WORD, _SECOND_WORD = np.uint8(0xCC), np.uint8(0x33)


class Shadow:
    """State arrays with the axes of `hw.lockstep.stores`.

    At first a long word of the chip is known if it is not zero: nobody can tell a stored zero from an empty cell.
    Off-chip words are judged by `discover` when they are first read.  What else was loaded is said with `mark`.
    """

    def __init__(self, board: Board) -> None:
        size = board.topology
        self._board = board
        self._arrays: dict[Store, U8] = {}
        for store in (*PE_MEMORIES, Store.L1BM, Store.L2BM, Store.TURN, Store.MATRIX_X, Store.MATRIX_Y, Store.DAR):
            self._arrays[store] = np.zeros(array_of(board, store).shape, np.uint8)
        for store in _TILES:
            self._arrays[store] = np.zeros((size.l1bs, 2, 4, 4, 16), np.uint8)
        self._arrays[Store.DARBUF] = np.zeros((size.groups, size.darbuf_words), np.uint8)
        self._arrays[Store.PDM] = np.zeros((size.groups, size.pdm), np.uint8)
        self.dram: list[U8] = [np.zeros(size.dram, np.uint8) for _ in range(size.groups)]
        for store in _ON_CHIP:
            set_cells = array_of(board, store) != 0
            if set_cells.any():
                self._arrays[store][set_cells] = KNOWN
        # LW1 of T is written together with LW0, also as zero; latches belong to programs that ran before.
        self._arrays[Store.T][:] = self._arrays[Store.T].max(axis=1, keepdims=True)
        self._arrays[Store.T_BEFORE][:] = self._arrays[Store.T]
        for store in (Store.ALUF, Store.MAUF, Store.LBF, Store.MREADF):
            self._arrays[store][:] = KNOWN

    def __getitem__(self, store: Store) -> U8:
        """The array of a store, DRAM excepted."""
        return self._arrays[store]

    def mark(self, areas: Iterable[Area]) -> None:
        """These areas are known."""
        for area in areas:
            if area.store.in_words:
                self._mark_words(area)
                continue
            run = slice(area.start, area.start + area.count)
            place = [slice(None) if at is None else at for at in area.full_place()]
            if area.store is Store.DRAM:
                for dram in self.dram[place[0]] if isinstance(place[0], slice) else (self.dram[place[0]],):
                    dram[run] = KNOWN
            elif area.store is Store.T:
                self._by_level(area.store)[(*place[:3], slice(None), run, place[4], place[3])] = KNOWN
            else:
                self._by_level(area.store)[(*place, run)] = KNOWN

    def _mark_words(self, area: Area) -> None:
        n, c, b, m, p = (slice(None) if at is None else at for at in area.full_place())
        array = self._by_level(area.store)
        words = np.arange(area.start, area.start + area.count)
        for odd, bits in ((0, _FIRST_WORD), (1, _SECOND_WORD)):
            for row in words[words % 2 == odd] >> 1:
                array[n, c, b, row, p, m] |= bits

    def _by_level(self, store: Store) -> U8:
        """A view with the place levels as axes."""
        size, array = self._board.topology, self._arrays[store]
        lead = (size.groups, size.l2b_per_group, size.l1b_per_l2b)[: min(3, len(store.levels))]
        return array.reshape(*lead, *array.shape[1:])

    def discover(self, store: Store, group: int, addresses: NDArray[np.int64]) -> U8:
        """States of PDM or DRAM words.  A block of 16 LW that nothing has written yet counts as loaded, whole, if it
        holds anything but zeros."""
        states = self.dram[group] if store is Store.DRAM else self._arrays[store][group]
        values = array_of(self._board, store, group) if store is Store.DRAM else array_of(self._board, store)[group]
        blocks = np.unique(addresses // BLOCK)
        by_block = states[: len(states) // BLOCK * BLOCK].reshape(-1, BLOCK)
        fresh = blocks[~by_block[blocks].any(axis=1)]
        loaded = fresh[values[: len(values) // BLOCK * BLOCK].reshape(-1, BLOCK)[fresh].any(axis=1)]
        by_block[loaded] = KNOWN
        return states[addresses]
