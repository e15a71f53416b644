"""Every L2BM instruction against slices of the L2BM and the L1BMs (isa.md 7)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hw.engine import LoweringError
from hw.kernels.rrn import RRN
from hw.program import L2Kind, L2Move, Mem, PeLoad, PeStore, Unit
from hw.state import Board, Memory
from tests.engine.build import L2BMB, L2BMB2, L2BMD, dst, l1bmd, l1bmp, random_board, run, src, step

LC, LB = 256, 64
ALL = tuple(range(8))
SOME = (1, 3)


def move(kind: L2Kind, layout: object, **more: object) -> L2Move:
    return L2Move(Unit.L2BM, kind, layout, LC, LB, **more)  # type: ignore[arg-type]


def memories(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """L2BM [n, c, address], L1BM [n, c, b, address]."""
    return board.view(Memory.L2BM).copy(), board.view(Memory.L1BM).copy()


def check(board: Board, l2: np.ndarray, l1: np.ndarray) -> None:
    assert np.array_equal(board.view(Memory.L2BM), l2)
    assert np.array_equal(board.view(Memory.L1BM), l1)


@pytest.mark.parametrize("members", [ALL, SOME, (5,)])
def test_l2bmb(members: tuple[int, ...]) -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.DOWN, L2BMB, members=members))
    l1[:, :, list(members), LB : LB + 64] = l2[:, :, None, LC : LC + 64]
    check(board, l2, l1)


@pytest.mark.parametrize("members", [ALL, SOME])
def test_l2bmb2(members: tuple[int, ...]) -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.DOWN, L2BMB2, members=members))
    parts = l2[:, :, LC : LC + 256].reshape(4, 2, 4, 4, 16)  # cycle, b // 2, k
    for b in members:
        l1[:, :, b, LB : LB + 64] = parts[:, :, :, b // 2].reshape(4, 2, 64)
    check(board, l2, l1)


@pytest.mark.parametrize("members", [ALL, SOME])
def test_l2bmd_down(members: tuple[int, ...]) -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.DOWN, L2BMD, members=members))
    parts = l2[:, :, LC : LC + 256].reshape(4, 2, 4, 8, 8)  # cycle, b, k
    for b in members:
        l1[:, :, b, LB : LB + 32] = parts[:, :, :, b].reshape(4, 2, 32)
    check(board, l2, l1)


def test_l2bmd_up() -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.UP, L2BMD))
    parts = l1[..., LB : LB + 32].reshape(4, 2, 8, 4, 8)
    l2[:, :, LC : LC + 256] = parts.swapaxes(2, 3).reshape(4, 2, 256)
    check(board, l2, l1)


@pytest.mark.parametrize("member", [0, 6])
def test_l2bm_of_one_l1b(member: int) -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.UP, L2BMB, members=(member,)))
    l2[:, :, LC : LC + 64] = l1[:, :, member, LB : LB + 64]
    check(board, l2, l1)


@pytest.mark.parametrize("members", [ALL, SOME])
def test_l2bmr_adds(members: tuple[int, ...]) -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.REDUCE, L2BMB, members=members, kernel=RRN[("l", "iadd")]))
    l2[:, :, LC : LC + 64] = l1[:, :, list(members), LB : LB + 64].sum(axis=2, dtype=np.uint64)
    check(board, l2, l1)


@pytest.mark.parametrize("op", ["band", "max", "min", "and"])
def test_absent_l1bs_count_as_the_unit_value(op: str) -> None:
    """The result of a subset equals the kernel's own answer with unit values in the other places."""
    prec = "d" if op in ("max", "min") else "i"
    kernel = RRN[(prec, op)]
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.REDUCE, L2BMB, members=SOME, kernel=kernel))
    for n, c, i in [(0, 0, 0), (3, 1, 63), (2, 0, 17)]:
        inputs = [int(l1[n, c, b, LB + i]) if b in SOME else kernel.unit_value for b in ALL]
        assert int(board.view(Memory.L2BM)[n, c, LC + i]) == kernel.reference(inputs, ())
    l2[:, :, LC : LC + 64] = board.view(Memory.L2BM)[:, :, LC : LC + 64]
    check(board, l2, l1)


def test_l2bmr2_has_four_circuits() -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.REDUCE, L2BMB2, kernel=RRN[("l", "iadd")]))
    sums = l1[..., LB : LB + 64].reshape(4, 2, 4, 2, 4, 16).sum(axis=3, dtype=np.uint64)  # h, cycle, k
    l2[:, :, LC : LC + 256] = sums.swapaxes(2, 3).reshape(4, 2, 256)
    check(board, l2, l1)


@pytest.mark.parametrize(
    "pairs", [((0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (4, 7)), ((2, 0), (3, 1)), ((0, 1), (1, 0))]
)
def test_l2bmi(pairs: tuple[tuple[int, int], ...]) -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, move(L2Kind.INNER, L2BMB, lb2=192, inner=pairs))
    old = l1.copy()
    for source, target in pairs:
        l1[:, :, target, 192:256] = old[:, :, source, LB : LB + 64]
    check(board, l2, l1)


def test_addresses_wrap_on_both_sides() -> None:
    board = random_board()
    l2, l1 = memories(board)
    run(board, replace(move(L2Kind.DOWN, L2BMB), lc=1008, lb=480))
    l1[..., (480 + np.arange(64)) % 512] = l2[:, :, None, (1008 + np.arange(64)) % 1024]
    check(board, l2, l1)


def test_an_l2bm_item_reads_before_the_other_items_write() -> None:
    """`l2bm` up beside a store into the same L1BM words takes the old ones."""
    board = random_board()
    l2, l1 = memories(board)
    value = board.view(Memory.LM0)[..., :4].copy()
    run(board, step(PeStore(Unit.L1BM, l1bmd(), 0, src(Mem.LM0)), move(L2Kind.UP, L2BMB, members=(2,))))
    l2[:, :, LC : LC + 64] = l1[:, :, 2, LB : LB + 64]
    l1[..., :256] = value.transpose(0, 1, 2, 5, 3, 4).reshape(4, 2, 8, 256)
    check(board, l2, l1)


@pytest.mark.parametrize("kind", [L2Kind.DOWN, L2Kind.INNER])
def test_a_load_beside_an_l2bm_item_reads_the_old_l1bm(kind: L2Kind) -> None:
    board = random_board()
    _, l1 = memories(board)
    pairs = tuple((0, b) for b in range(1, 8))
    item = move(kind, L2BMB, inner=pairs, lb2=LB) if kind is L2Kind.INNER else move(kind, L2BMB)
    run(board, step(item, PeLoad(Unit.L1BM, l1bmp(), LB, (dst(Mem.GRF0),))))
    assert (board.view(Memory.GRF0)[..., :4] == l1[:, :, :, None, None, LB : LB + 4]).all()


def test_steps_before_and_after_see_the_right_memories() -> None:
    """store, up, down, load through other addresses: a round trip through all levels."""
    board = random_board()
    value = board.view(Memory.LM0)[..., :4].copy()
    ups = [L2Move(Unit.L2BM, L2Kind.UP, L2BMD, 256 * k, 32 * k) for k in range(4)]
    downs = [L2Move(Unit.L2BM, L2Kind.DOWN, L2BMD, 256 * k, 256 + 32 * k) for k in range(4)]
    lines = [PeStore(Unit.L1BM, l1bmd(), 0, src(Mem.LM0)), *ups, *downs]
    run(board, *lines)
    image = value.transpose(0, 1, 2, 5, 3, 4).reshape(4, 2, 8, 256)
    assert np.array_equal(board.view(Memory.L1BM)[..., 256 : 256 + 128], image[..., :128])


def test_two_l2bm_items_are_refused() -> None:
    with pytest.raises(LoweringError, match="two items for L2BM"):
        run(random_board(), step(move(L2Kind.UP, L2BMD), move(L2Kind.DOWN, L2BMD)))


def test_missing_parts_are_named() -> None:
    with pytest.raises(LoweringError, match="kind UP needs a map"):
        run(random_board(), L2Move(Unit.L2BM, L2Kind.UP))
    with pytest.raises(LoweringError, match="needs a REDUCE kernel"):
        run(random_board(), move(L2Kind.REDUCE, L2BMB))
