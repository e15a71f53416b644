"""Access by place (n, c, b, m, p) and address: for dumps, loaders and tests, not for the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hw.state.errors import PlaceError
from hw.state.memory import Memory

if TYPE_CHECKING:
    from hw.state.board import Board

Place = tuple[int | None, ...]
_HIGH = 0xFFFFFFFF00000000
_LOW = 0xFFFFFFFF


def view(board: Board, memory: Memory) -> NDArray[np.generic]:
    """A writable view of `memory`: the axes of `memory.levels`, then

    LM, GRF, L1BM, L2BM, PDM: [address in LW]; T: [cycle][LW 0..1]; MASK (uint8): [entry][cycle]; BAR (int64): none;
    MATRIX: [row][PE].  DRAM has no joint view (its groups are separate arrays): PlaceError, use `board.dram[n]`.
    """
    size = board.topology
    l1 = (size.groups, size.l2b_per_group, size.l1b_per_l2b)
    lanes = (size.pes, size.mabs)
    match memory:
        case Memory.LM0 | Memory.LM1:
            rows = board.lm[int(memory is Memory.LM1)]
            return rows.reshape(*l1, size.lm, *lanes).transpose(0, 1, 2, 5, 4, 3)
        case Memory.GRF0 | Memory.GRF1:
            rows = board.grf[int(memory is Memory.GRF1)]
            return rows.reshape(*l1, size.grf, *lanes).transpose(0, 1, 2, 5, 4, 3)
        case Memory.T:
            return board.t.reshape(*l1, 2, 4, *lanes).transpose(0, 1, 2, 6, 5, 4, 3)
        case Memory.MASK:
            return board.masks.reshape(*l1, 32, 4, *lanes).transpose(0, 1, 2, 6, 5, 3, 4)
        case Memory.BAR0 | Memory.BAR1:
            return board.bar[int(memory is Memory.BAR1)].reshape(*l1, *lanes).transpose(0, 1, 2, 4, 3)
        case Memory.MATRIX_X | Memory.MATRIX_Y:
            plane = board.matrix[:, int(memory is Memory.MATRIX_Y)]
            return plane.reshape(*l1, 16, *lanes).transpose(0, 1, 2, 5, 3, 4)
        case Memory.L1BM:
            return board.l1bm.reshape(*l1, size.l1bm)
        case Memory.L2BM:
            return board.l2bm.reshape(size.groups, size.l2b_per_group, size.l2bm)
        case Memory.PDM:
            return board.pdm
    raise PlaceError("the DRAMs of the groups are separate arrays: use board.dram[n]")


_ADDRESSED = frozenset(
    {Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1, Memory.L1BM, Memory.L2BM, Memory.PDM, Memory.DRAM}
)


def _select(board: Board, memory: Memory, address: int, place: Place) -> tuple[NDArray[np.uint64], tuple[object, ...]]:
    """The array and the index of long word `address` at `place`, checked."""
    if memory not in _ADDRESSED:
        raise PlaceError(f"{memory.name} has no long-word addresses: use board.view")
    levels = memory.levels
    if len(place) > len(levels):
        raise PlaceError(f"{memory.name} has the levels {levels}, {len(place)} indices were given")
    full = place + (None,) * (len(levels) - len(place))
    array: NDArray[np.uint64]
    if memory is Memory.DRAM:
        group = full[0]
        if group is None:
            raise PlaceError("DRAM needs a group")
        _check("n", group, board.topology.groups)
        array, full = board.dram[group], ()
        levels = ""
    else:
        array = view(board, memory)  # type: ignore[assignment]  # all memories of _ADDRESSED hold uint64
    for level, index, count in zip(levels, full, array.shape, strict=False):
        if index is not None:
            _check(level, index, count)
    _check("address", address, array.shape[-1])
    return array, (*(slice(None) if index is None else index for index in full), address)


def _check(name: str, index: int, count: int) -> None:
    if not 0 <= index < count:
        raise PlaceError(f"{name} {index} does not exist: expected 0..{count - 1}")


def read_lw(board: Board, memory: Memory, address: int, place: tuple[int, ...]) -> int:
    """See `Board.read_lw`."""
    if len(place) != len(memory.levels):
        raise PlaceError(f"reading {memory.name} needs the indices {memory.levels}, {len(place)} were given")
    array, index = _select(board, memory, address, place)
    return int(array[index])  # type: ignore[index]


def write_lw(board: Board, memory: Memory, address: int, value: int, place: Place) -> None:
    """See `Board.write_lw`."""
    array, index = _select(board, memory, address, place)
    array[index] = np.uint64(value)  # type: ignore[index]


def read_word(board: Board, memory: Memory, address: int, place: tuple[int, ...]) -> int:
    """See `Board.read_word`."""
    long_word = read_lw(board, memory, address >> 1, place)
    return long_word & _LOW if address & 1 else long_word >> 32


def write_word(board: Board, memory: Memory, address: int, value: int, place: Place) -> None:
    """See `Board.write_word`."""
    array, index = _select(board, memory, address >> 1, place)
    keep, shift = (_HIGH, 0) if address & 1 else (_LOW, 32)
    array[index] = array[index] & np.uint64(keep) | np.uint64(value << shift)  # type: ignore[index]
