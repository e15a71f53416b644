"""`l1bmr` and `l1bmr4`: order of the stages, narrowing, places of the results (isa.md 8.2, 8.5, numerics.md 4.1)."""

from __future__ import annotations

import numpy as np
import pytest

from hw.engine import LoweringError
from hw.kernels.abi import Kernel
from hw.kernels.modifiers import WIDEN
from hw.kernels.rrn import RRN, RRN_NARROW
from hw.program import L1Map, Mem, PeLoad, PeStore, Source, Unit
from hw.state import Board, Memory
from tests.engine.build import along, dst, l1bmm, l1bmm4, random_board, run, src

A = 128
IADD, FADD, DADD, BOR = RRN[("l", "iadd")], RRN[("f", "fadd")], RRN[("d", "fadd")], RRN[("i", "bor")]


def floats(board: Board, single: bool) -> None:
    """LM0 with ordinary numbers."""
    rng = np.random.default_rng(5)
    if single:
        numbers = rng.normal(size=(*board.lm[0].shape, 2)).astype(np.float32).view(np.uint32).astype(np.uint64)
        board.lm[0] = numbers[..., 0] << np.uint64(32) | numbers[..., 1]
    else:
        board.lm[0] = rng.normal(size=board.lm[0].shape).view(np.uint64)


def tile(board: Board, lws: int) -> np.ndarray:
    """[n, c, b, m, p, cycle, lw]."""
    return board.view(Memory.LM0)[..., : 4 * lws].reshape(4, 2, 8, 16, 4, 4, lws).copy()


def reduce(board: Board, layout: L1Map, first: Kernel | None, last: Kernel | None, width: int, **more: object) -> None:
    source = Source(Mem.LM0, width, along(0, width), **more)  # type: ignore[arg-type]
    run(board, PeStore(Unit.L1BM, layout, A, source, first=first, last=last))


def two_stages(first: Kernel, last: Kernel, inputs: list[object]) -> int:
    """16 inputs: four circuits of neighbours, then the four results."""
    return last.reference([first.reference(inputs[4 * h : 4 * h + 4], ()) for h in range(4)], ())


SPOTS = [(0, 0, 0, 0, 0), (3, 1, 7, 3, 3), (1, 0, 4, 2, 1)]  # n, c, b, cycle, pe


@pytest.mark.parametrize("lws", [1, 2])
def test_integer_sums_over_all_mabs(lws: int) -> None:
    board = random_board()
    sums = tile(board, lws).sum(axis=3, dtype=np.uint64)  # pe, cycle, lw
    expected = board.view(Memory.L1BM).copy()
    reduce(board, l1bmm(lws, stages=2), IADD, IADD, 2 * lws)
    expected[..., A : A + 16 * lws] = sums.transpose(0, 1, 2, 4, 5, 3).reshape(4, 2, 8, -1)
    assert np.array_equal(board.view(Memory.L1BM), expected)


@pytest.mark.parametrize("lws", [1, 2])
def test_integer_sums_over_four_mabs(lws: int) -> None:
    board = random_board()
    sums = tile(board, lws).reshape(4, 2, 8, 4, 4, 4, 4, lws).sum(axis=4, dtype=np.uint64)  # h, pe, cycle, lw
    expected = board.view(Memory.L1BM).copy()
    reduce(board, l1bmm4(lws, stages=1), None, IADD, 2 * lws)
    expected[..., A : A + 64 * lws] = sums.transpose(0, 1, 2, 5, 3, 6, 4).reshape(4, 2, 8, -1)
    assert np.array_equal(board.view(Memory.L1BM), expected)


@pytest.mark.parametrize(("kernel", "single"), [(DADD, False), (FADD, True)])
def test_floats_round_after_each_stage(kernel: Kernel, single: bool) -> None:
    board = random_board()
    floats(board, single)
    values = tile(board, 1)
    reduce(board, l1bmm(stages=2), kernel, kernel, 2)
    for n, c, b, cycle, p in SPOTS:
        inputs = [int(values[n, c, b, m, p, cycle, 0]) for m in range(16)]
        stored = int(board.view(Memory.L1BM)[n, c, b, A + 4 * cycle + p])
        assert stored == two_stages(kernel, kernel, inputs)


@pytest.mark.parametrize("op", ["fadd", "max"])
def test_narrowing_after_two_stages(op: str) -> None:
    """`r`: LW p of a cycle holds the four halves of PE p."""
    first, last = RRN[("f", op)], RRN_NARROW[op]
    board = random_board()
    floats(board, single=True)
    values = tile(board, 2)
    reduce(board, l1bmm(1, stages=2), first, last, 4)
    for n, c, b, cycle, p in SPOTS:
        halves = [
            [
                first.reference([int(values[n, c, b, m, p, cycle, w]) for m in range(4 * h, 4 * h + 4)], ())
                for w in (0, 1)
            ]
            for h in range(4)
        ]
        expected = last.reference([tuple(pair) for pair in halves], ())
        assert int(board.view(Memory.L1BM)[n, c, b, A + 4 * cycle + p]) == expected


def test_narrowing_in_one_stage() -> None:
    board = random_board()
    floats(board, single=True)
    values = tile(board, 2)
    reduce(board, l1bmm4(1, stages=1), None, RRN_NARROW["fadd"], 4)
    for n, c, b, cycle, p in SPOTS:
        for h in range(4):
            inputs = [tuple(int(values[n, c, b, 4 * h + j, p, cycle, w]) for w in (0, 1)) for j in range(4)]
            stored = int(board.view(Memory.L1BM)[n, c, b, A + 16 * cycle + 4 * h + p])
            assert stored == RRN_NARROW["fadd"].reference(inputs, ())


def test_widened_source_into_two_long_words() -> None:
    """`e`: halves of LW0 become the four singles of the 2LW."""
    board = random_board()
    values = tile(board, 1)[..., 0]
    reduce(board, l1bmm(2, stages=2), BOR, BOR, 2, transforms=(WIDEN[("h4", "raw")],))
    wide = [
        WIDEN[("h4", "raw")].reference([(int(x), 0)] * 4, None, None, None, ())[0][0] for x in values[1, 0, 4, :, 1, 2]
    ]
    for w in (0, 1):
        expected = 0
        for pair in wide:
            expected |= pair[w]
        assert int(board.view(Memory.L1BM)[1, 0, 4, A + 8 * 2 + 4 * w + 1]) == expected


def test_the_turnaround_register_gets_the_result() -> None:
    board = random_board()
    sums = tile(board, 1)[..., 0].sum(axis=3, dtype=np.uint64)  # pe, cycle
    memory = board.view(Memory.L1BM).copy()
    run(
        board,
        PeStore(Unit.L1BM_TURN, l1bmm(stages=2), None, src(Mem.LM0), first=IADD, last=IADD),
        PeLoad(Unit.L1BM_TURN, l1bmm(), None, (dst(Mem.GRF0),)),
    )
    assert np.array_equal(board.view(Memory.GRF0)[..., :4], np.broadcast_to(sums[:, :, :, None], (4, 2, 8, 16, 4, 4)))
    assert np.array_equal(board.view(Memory.L1BM), memory)


def test_missing_kernels_are_named() -> None:
    with pytest.raises(LoweringError, match="expected a REDUCE kernel"):
        reduce(random_board(), l1bmm4(stages=1), None, None, 2)
    with pytest.raises(LoweringError, match="kernel for the first"):
        reduce(random_board(), l1bmm(stages=2), None, IADD, 2)
    with pytest.raises(LoweringError, match="3 reduction stages"):
        reduce(random_board(), l1bmm(stages=3), IADD, IADD, 2)
