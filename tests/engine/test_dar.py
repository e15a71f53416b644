"""DRAM address registers: `l2bmdars`, `l2bmdarw` and transfers through them (isa.md 3.9, 7.8, 19.7)."""

from __future__ import annotations

import numpy as np
import pytest

from hw.program import L2Kind, L2Move, MvForm, Unit
from hw.state import Board
from tests.engine.build import L2BMD, NOP, dram, l2bm, mv, pdm, random_board, run, step

DARW = L2Move(Unit.DARW, L2Kind.DARW)


def dars(lc: int = 0, bank: int = 0, entry: int = 0) -> L2Move:
    return L2Move(Unit.L2BM, L2Kind.DARS, lc=lc, bank=bank, dar=entry)


def words(board: Board, lc: int, bank: int) -> np.ndarray:
    """The 512 address words of each group, [n][512]."""
    lws = board.l2bm[bank::2, (lc + np.arange(256)) % 1024]
    return np.stack([lws >> np.uint64(32), lws & np.uint64(0xFFFFFFFF)], axis=-1).reshape(4, 512).astype(np.uint32)


@pytest.mark.parametrize("bank", [0, 1])
def test_each_step_moves_four_entries(bank: int) -> None:
    board = random_board()
    expected = words(board, 64, bank)
    run(board, dars(64, bank, 100), *[DARW] * 3)
    assert np.array_equal(board.dar[:, 100:112], expected[:, :12])
    assert not board.dar[:, 112:].any()


def test_128_steps_drain_the_buffer_and_then_it_starts_over() -> None:
    board = random_board()
    expected = words(board, 0, 1)
    run(board, dars(0, 1, 1022), *[DARW] * 130)
    entries = (1022 + np.arange(520)) % 1024
    assert np.array_equal(board.dar[:, entries], np.concatenate([expected, expected[:, :8]], axis=1))


def test_progress_continues_in_the_next_program() -> None:
    board = random_board()
    expected = words(board, 0, 0)
    run(board, dars(entry=4), DARW)
    run(board, DARW, NOP, DARW)
    assert np.array_equal(board.dar[:, 4:16], expected[:, :12])


def test_a_new_load_restarts_buffer_and_entry() -> None:
    board = random_board()
    expected = words(board, 256, 0)
    run(board, dars(0, 0, 0), DARW, dars(256, 0, 40), DARW)
    assert np.array_equal(board.dar[:, 40:44], expected[:, :4])
    assert not board.dar[:, 4:40].any()


def test_both_in_one_step_use_the_old_buffer() -> None:
    board = random_board()
    first, second = words(board, 0, 0), words(board, 256, 0)
    run(board, dars(0, 0, 0), step(dars(256, 0, 8), DARW), DARW)
    assert np.array_equal(board.dar[:, 0:4], first[:, :4])
    assert np.array_equal(board.dar[:, 8:12], second[:, :4])


def test_the_load_sees_what_earlier_steps_wrote_to_the_l2bm() -> None:
    board = random_board()
    run(board, L2Move(Unit.L2BM, L2Kind.UP, L2BMD, 0, 0), dars(0), DARW)
    assert np.array_equal(board.dar[:, :4], words(board, 0, 0)[:, :4])


def test_draining_without_a_load_writes_zeros() -> None:
    board = random_board()
    board.dar[:] = 7
    run(board, DARW)
    assert not board.dar[:, :4].any() and (board.dar[:, 4:] == 7).all()


def blocks(board: Board, seed: int = 3) -> None:
    """Entries with block numbers inside the small DRAM, different in every group and entry."""
    rng = np.random.default_rng(seed)
    for n in range(4):
        board.dar[n, :256] = rng.permutation(256)


@pytest.mark.parametrize("nd", [1, 2, 3, 12])
def test_reading_with_nd(nd: int) -> None:
    board = random_board()
    blocks(board)
    run(board, mv(MvForm.PARALLEL, 192, dram(5, indirect=True), l2bm(0, bank=1), nd=nd))
    for g in range(4):
        for k in range(12):
            at = 16 * (int(board.dar[g, 5 + k // nd]) + k % nd) % 4096
            assert np.array_equal(board.l2bm[2 * g + 1, 16 * k : 16 * k + 16], board.dram[g][at : at + 16])


def test_without_nd_one_entry_serves_all() -> None:
    board = random_board()
    board.dar[:, 9] = [3, 200, 255, 17]
    run(board, mv(MvForm.PARALLEL, 128, dram(9, indirect=True), l2bm(0, bank=0)))
    for g, block in enumerate([3, 200, 255, 17]):
        at = (16 * block + np.arange(128)) % 4096
        assert np.array_equal(board.l2bm[2 * g, :128], board.dram[g][at])


def test_entries_wrap_behind_the_last() -> None:
    board = random_board()
    board.dar[2, [1022, 1023, 0, 1]] = [5, 6, 7, 8]
    run(board, mv(MvForm.D_L, 64, dram(1022, 2, indirect=True), l2bm(0, 0, 0), nd=1))
    assert np.array_equal(board.l2bm[0, :64], board.dram[2][80:144])


def test_writing_through_the_dar() -> None:
    board = random_board()
    blocks(board)
    before = [d.copy() for d in board.dram]
    run(board, mv(MvForm.D_PDM_DRAM, 256, pdm(0, 1), dram(3, indirect=True), nd=1))
    for h in range(4):
        for i in range(4):
            at = 16 * int(board.dar[h, 3 + i])
            before[h][at : at + 16] = board.pdm[1, 64 * i + 16 * h : 64 * i + 16 * h + 16]
        assert np.array_equal(board.dram[h], before[h])


def test_a_broadcast_reads_each_dram_through_its_own_dar() -> None:
    board = random_board()
    blocks(board)
    run(board, mv(MvForm.B_DRAM, 64, dram(0, indirect=True), l2bm(0), nd=1))
    for g in range(4):
        at = 16 * int(board.dar[g, 0])
        assert np.array_equal(board.l2bm[5, 16 * g : 16 * g + 16], board.dram[g][at : at + 16])
