"""Small boards with random contents, copies of them, and single lines run on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hw.engine import execute
from hw.lockstep import Cells, Store
from hw.lockstep.stores import array_of
from hw.program import Line, Program, Step
from hw.state import Board
from hw.state.board import LatchState
from isa.debugger.record import expand_bits
from tests.state.small import small_board

STORES = [store for store in Store if store is not Store.DRAM]
_BITS = {np.dtype(np.uint64): 64, np.dtype(np.uint32): 32, np.dtype(np.int64): 12, np.dtype(np.uint8): 4}


def arrays(board: Board) -> Iterator[tuple[Store, int | None, NDArray[np.generic]]]:
    """All state of a board."""
    for store in STORES:
        yield store, None, array_of(board, store)
    for group in range(board.topology.groups):
        yield Store.DRAM, group, array_of(board, Store.DRAM, group)


def randomise(board: Board, rng: np.random.Generator) -> None:
    """Random contents everywhere; base addresses 0, every latch may be read."""
    for store, _, array in arrays(board):
        if store in (Store.BAR0, Store.BAR1):
            continue
        array[...] = rng.integers(0, 2 ** _BITS[array.dtype], array.shape, dtype=array.dtype)
    board.masks[:, 0] = 15
    board.masks[:, 16:] = Board(None).masks[:1, 16:]
    board.dar[:] %= 256
    board.alu_state = board.mau_state = LatchState.VALID


def copy_of(board: Board) -> Board:
    """A second board in the same state."""
    other = small_board()
    for (_, _, source), (_, _, target) in zip(arrays(board), arrays(other), strict=True):
        target[...] = source
    other.alu_state, other.mau_state, other.t_pending = board.alu_state, board.mau_state, board.t_pending
    other.dar_entry[:], other.dar_position[:] = board.dar_entry, board.dar_position
    return other


def alone(line: Line) -> Program:
    """A program of one line, its `wait` taken off."""
    return Program((replace(line, wait=None) if isinstance(line, Step) else line,))


def run_alone(line: Line, board: Board) -> None:
    """Execute one line; every latch may be read."""
    board.alu_state = board.mau_state = LatchState.VALID
    execute(alone(line), board, threads=1)


class Marks:
    """Bits of a board, by store: a set of cells as masks."""

    def __init__(self, board: Board) -> None:
        self._masks = {(store, group): np.zeros(array.shape, np.uint64) for store, group, array in arrays(board)}

    def add(self, cells: Cells) -> None:
        """Mark what an access touches."""
        mask = self._masks[cells.store, cells.group]
        found = mask[cells.index]
        touched = np.broadcast_to(expand_bits(np.broadcast_to(cells.bits, found.shape)), found.shape)
        np.bitwise_or.at(mask, cells.index, touched)

    def __getitem__(self, key: tuple[Store, int | None]) -> NDArray[np.uint64]:
        return self._masks[key]


def new_board(seed: int) -> Board:
    """A small board with random contents."""
    board = small_board()
    randomise(board, np.random.default_rng(seed))
    return board
