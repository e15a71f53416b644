"""`Board`: power-on values, lazy memory, fill patterns, access by place."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pytest

from hw.state import Board, LatchState, Memory, PlaceError, StateError
from tests.state.small import small_board


def test_power_on_values() -> None:
    board = small_board()
    for array in (board.lm, board.grf, board.t, board.matrix, board.l1bm, board.l2bm, board.pdm, board.bar, board.dar):
        assert not array.any()
    assert (board.masks[:, 0] == 15).all()
    assert not board.masks[:, 1:16].any()
    assert (board.alu_state, board.mau_state) == (LatchState.UNWRITTEN, LatchState.UNWRITTEN)


@pytest.mark.parametrize("pattern", range(16))
def test_pattern_entries_name_cycle_0_first(pattern: int) -> None:
    """isa.md 3.7: `/1000` is entry 24 and writes only in cycle 0."""
    entry = small_board().masks[:, 16 + pattern]
    for cycle, digit in enumerate(f"{pattern:04b}"):
        assert (entry[:, cycle] == 15 * int(digit)).all()


def test_shapes_of_the_whole_chip() -> None:
    board = Board()
    assert board.lm.shape == (2, 64, 2048, 4, 16)
    assert board.grf.shape == (2, 64, 256, 4, 16)
    assert board.masks.shape == (64, 32, 4, 4, 16)
    assert board.l2bm.shape == (8, 32768)
    assert [dram.shape for dram in board.dram] == [(2**29,)] * 4


def test_a_board_costs_only_what_it_touches() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    board = Board()
    board.dram[3][2**29 - 1] = 1
    board.lm[0, 0, 0] = 1
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if sys.platform == "darwin" else 1024) < 64 * 2**20


def test_reset_clears_everything() -> None:
    board = small_board()
    board.fill(5)
    board.dirty()
    board.dram[1][7] = 9
    board.alu_state = LatchState.VALID
    board.reset()
    fresh = small_board()
    for name in ("lm", "grf", "t", "masks", "matrix", "l1bm", "l2bm", "pdm"):
        assert np.array_equal(getattr(board, name), getattr(fresh, name))
    assert not board.dram[1].any()
    assert board.alu_state is LatchState.UNWRITTEN


def test_fill_sets_every_sram() -> None:
    board = small_board()
    board.fill(0xDEAD)
    for array in (board.lm, board.grf, board.t, board.matrix, board.l1bm, board.l2bm):
        assert (array == 0xDEAD).all()
    assert not board.pdm.any()


def test_dirty_is_the_same_every_time_and_leaves_t_and_patterns() -> None:
    first, second = small_board(), small_board()
    first.dirty()
    second.dirty()
    for name in ("lm", "grf", "l1bm", "l2bm", "masks"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert first.lm[0, 0, 0, 0, 0] == 0xFEEDCAFEDEADBEEF
    assert first.masks[:, 1:16].max() == 15
    assert (first.masks[:, 0] == 15).all() and (first.masks[:, 31] == 15).all()
    assert not first.t.any() and not first.matrix.any()


def test_unique_pattern_of_the_whole_chip() -> None:
    """Values read on the vendor's emulator."""
    board = Board(offchip="unique")
    for group in range(4):
        assert board.read_lw(Memory.PDM, 0, group) == 0x80000
        assert board.read_lw(Memory.PDM, 524287, group) == 1
        assert board.read_lw(Memory.DRAM, 0, group) == 0x800000
        assert board.read_lw(Memory.DRAM, 8388607, group) == 1
        assert board.read_lw(Memory.DRAM, 8388608, group) == 0x1000000
        assert board.read_lw(Memory.DRAM, 8388611, group) == 0xFFFFFD


def test_groups_of_a_unique_board_are_independent() -> None:
    board = small_board("unique")
    board.dram[0][5] = 77
    assert board.dram[0][5] == 77
    assert board.dram[1][5] == 0x800000 - 5
    assert small_board("unique").dram[0][5] == 0x800000 - 5


def test_unknown_offchip_mode_lists_the_modes() -> None:
    with pytest.raises(StateError, match="zero, unique, uninitialized"):
        Board(offchip="zeros")


PLACE = (3, 1, 6, 13, 2)
L1 = (2 * 3 + 1) * 8 + 6


def test_views_lead_to_the_array_element_of_a_place() -> None:
    board = small_board()
    n, c, b, m, p = PLACE
    board.view(Memory.LM0)[n, c, b, m, p, 5] = 1
    board.view(Memory.GRF1)[n, c, b, m, p, 6] = 2
    board.view(Memory.T)[n, c, b, m, p, 3, 1] = 3
    board.view(Memory.MASK)[n, c, b, m, p, 4, 2] = 4
    board.view(Memory.BAR1)[n, c, b, m, p] = 5
    board.view(Memory.MATRIX_Y)[n, c, b, m, 7, p] = 6
    board.view(Memory.L1BM)[n, c, b, 8] = 7
    board.view(Memory.L2BM)[n, c, 9] = 8
    assert board.lm[0, L1, 5, p, m] == 1
    assert board.grf[1, L1, 6, p, m] == 2
    assert board.t[L1, 1 * 256 + 3 * 64 + p * 16 + m] == 3
    assert board.masks[L1, 4, 2, p, m] == 4
    assert board.bar[1, L1, p, m] == 5
    assert board.matrix[L1, 1, 7 * 64 + p * 16 + m] == 6
    assert board.l1bm[L1, 8] == 7
    assert board.l2bm[7, 9] == 8


def test_long_words_and_words_by_place() -> None:
    board = small_board()
    board.write_lw(Memory.LM1, 3, 0x0123456789ABCDEF, *PLACE)
    assert board.read_word(Memory.LM1, 6, *PLACE) == 0x01234567
    assert board.read_word(Memory.LM1, 7, *PLACE) == 0x89ABCDEF
    board.write_word(Memory.LM1, 6, 0xFFFFFFFF, *PLACE)
    board.write_word(Memory.LM1, 7, 0, *PLACE)
    assert board.read_lw(Memory.LM1, 3, *PLACE) == 0xFFFFFFFF00000000
    board.write_lw(Memory.DRAM, 4, 8, 2)
    assert [board.read_lw(Memory.DRAM, 4, n) for n in range(4)] == [0, 0, 8, 0]


def test_levels_left_out_mean_all_instances() -> None:
    board = small_board()
    board.write_lw(Memory.LM0, 2, 9, None, None, None, 0, 0)
    assert (board.lm[0, :, 2, 0, 0] == 9).all() and board.lm.sum() == 9 * 64
    board.write_lw(Memory.L2BM, 1, 4)
    assert (board.l2bm[:, 1] == 4).all()


@pytest.mark.parametrize(
    ("memory", "address", "place", "named"),
    [
        (Memory.LM0, 16, PLACE, "address 16"),
        (Memory.LM0, -1, PLACE, "address -1"),
        (Memory.LM0, 0, (4, 0, 0, 0, 0), "n 4"),
        (Memory.L2BM, 0, (0, 2), "c 2"),
        (Memory.DRAM, 0, (4,), "n 4"),
        (Memory.LM0, 0, (0,), "ncbmp"),
        (Memory.T, 0, PLACE, "T has no long-word addresses"),
    ],
)
def test_places_that_do_not_exist(memory: Memory, address: int, place: tuple[int, ...], named: str) -> None:
    with pytest.raises(PlaceError, match=named):
        small_board().read_lw(memory, address, *place)


def test_dram_has_no_joint_view() -> None:
    with pytest.raises(PlaceError, match=r"board\.dram"):
        small_board().view(Memory.DRAM)
    with pytest.raises(PlaceError, match="needs a group"):
        small_board().write_lw(Memory.DRAM, 0, 1)
    with pytest.raises(PlaceError, match="2 indices"):
        small_board().write_lw(Memory.PDM, 0, 1, 0, 0)
