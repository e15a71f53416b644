"""Areas that `d set` writes as `Cells`, so that breakpoints and comparisons treat them like any other write."""

from __future__ import annotations

import numpy as np

from hw.lockstep import Cells
from hw.lockstep.stores import Store, array_of
from hw.sanitizer.runtime import Area
from hw.state.board import Board


def cells_of(area: Area, board: Board) -> list[Cells]:
    """The cells of an area; PEs it does not name have no touched bits."""
    size, place = board.topology, area.full_place()
    if area.store is Store.L2BM:
        places = _numbers(place, (size.groups, size.l2b_per_group))
        return [_bank(area, places, size.l2bm)]
    places = _numbers(place[:3], (size.groups, size.l2b_per_group, size.l1b_per_l2b))
    if area.store is Store.L1BM:
        return [_bank(area, places, size.l1bm)]
    lanes = np.zeros((1, 1, size.pes, size.mabs), np.uint8)
    m, p = (slice(None) if index is None else index for index in place[3:5])
    lanes[0, 0, p, m] = 15
    column = places.reshape(-1, 1, 1, 1)
    axes = (np.arange(size.pes).reshape(1, 1, -1, 1), np.arange(size.mabs).reshape(1, 1, 1, -1))
    if area.store is Store.T:
        cycles = np.arange(area.start, area.start + area.count).reshape(1, -1, 1, 1)
        return [Cells(area.store, True, (column, lw, cycles, *axes), places, cycles, lanes, lw) for lw in range(2)]
    words = np.arange(area.start, area.start + area.count)
    rows = np.unique(words >> 1)
    rows = rows[rows < array_of(board, area.store).shape[1]]
    halves = 12 * np.isin(2 * rows, words) | 3 * np.isin(2 * rows + 1, words)
    bits = lanes & halves.astype(np.uint8).reshape(1, -1, 1, 1)
    address = rows.reshape(1, -1, 1, 1)
    return [Cells(area.store, True, (column, address, *axes), places, address, bits)]


def _numbers(place: tuple[int | None, ...], counts: tuple[int, ...]) -> np.ndarray:
    """Numbers of the instances that a place names."""
    numbers = np.arange(int(np.prod(counts))).reshape(counts)
    return numbers[tuple(slice(None) if index is None else slice(index, index + 1) for index in place)].reshape(-1)


def _bank(area: Area, places: np.ndarray, size: int) -> Cells:
    address = np.arange(area.start, min(area.start + area.count, size))[None]
    return Cells(area.store, True, (places[:, None], address), places, address, np.full((1, 1), 15, np.uint8))
