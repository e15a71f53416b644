"""Filled boards: every memory, equal seeds, masks, and a DRAM of full size that costs only what is written."""

from __future__ import annotations

import numpy as np
import pytest

from hw.state.board import Board
from hw.state.errors import OptionError
from hw.state.fill import DRAM_PERIOD, Fill, fill_board

MEMORIES = ("lm", "grf", "t", "matrix", "l1bm", "l2bm", "pdm")


@pytest.mark.parametrize("pattern", [0, 1, 0x8000_0000_0000_0001, 2**64 - 1])
def test_a_pattern_is_everywhere(pattern: int) -> None:
    board = Board()
    fill_board(board, Fill(pattern=pattern))
    for name in MEMORIES:
        assert (getattr(board, name) == np.uint64(pattern)).all(), name
    for dram in board.dram:
        assert dram.size == 2**29
        for address in (0, 1, DRAM_PERIOD - 1, DRAM_PERIOD, 5 * DRAM_PERIOD + 17, 2**29 - 1):
            assert int(dram[address]) == pattern
    assert (board.masks[:, :16] == 15).all()
    assert (board.masks[:, 16:] == Board().masks[:, 16:]).all()


def test_random_bytes_follow_the_seed() -> None:
    first, second, other = (Board() for _ in range(3))
    for board, seed in ((first, 5), (second, 5), (other, 6)):
        fill_board(board, Fill(seed=seed))
    for name in MEMORIES:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
        assert (getattr(first, name) != getattr(other, name)).mean() > 0.99, name
    start = slice(3 * DRAM_PERIOD, 3 * DRAM_PERIOD + 4096)
    assert np.array_equal(first.dram[2][start], second.dram[2][start])
    assert (first.dram[2][start] != other.dram[2][start]).all()
    assert (first.dram[2][start] != first.dram[1][start]).all()
    bits = np.unpackbits(first.l2bm.view(np.uint8))
    assert abs(bits.mean() - 0.5) < 0.001


def test_dram_is_private_and_contiguous() -> None:
    board = Board()
    fill_board(board, Fill(pattern=7))
    dram = board.dram[0]
    border = slice(DRAM_PERIOD - 2, DRAM_PERIOD + 2)
    dram[border] = [1, 2, 3, 4]
    assert dram[border].tolist() == [1, 2, 3, 4]
    assert dram[2 * DRAM_PERIOD - 2 : 2 * DRAM_PERIOD + 2].tolist() == [7] * 4
    assert board.dram[1][border].tolist() == [7] * 4


_NO_FILLS: list[dict[str, int]] = [{}, {"pattern": 1, "seed": 1}, {"pattern": -1}, {"pattern": 2**64}, {"seed": -1}]


@pytest.mark.parametrize("arguments", _NO_FILLS)
def test_what_is_no_fill(arguments: dict[str, int]) -> None:
    with pytest.raises(OptionError):
        Fill(**arguments)
