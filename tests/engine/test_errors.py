"""What lowering refuses, and errors of kernels."""

from __future__ import annotations

import numpy as np
import pytest

from hw.engine import LoweringError, MixedExponents, lower
from hw.kernels.alu_int import ALU_INT
from hw.kernels.mau_matrix import MAU_MATRIX
from hw.program import Compute, Dest, Item, L1Map, L2Kind, L2Map, L2Move, MaskRef, Mem, PeStore, Source, Step, Unit
from hw.state import Board, Memory
from tests.engine.build import L2BMB, NOP, PASSA, dst, passa, program, random_board, run, src, step
from tests.lockstep.random_runs import differences
from tests.state.small import small_board

X = src(Mem.GRF0)
FAR = L1Map("far", 1, 256, lambda c, w, m, p: 64 * c + 4 * m + p + 1)
WIDE = L2Map("wide", 20, lambda b, c, k: 20 * c + k, lambda c, k: 20 * c + k, 80, 80)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((passa(X), passa(X)), "two items for ALU"),
        ((Compute(Unit.L2BM, PASSA, (X,), ()),), "unit L2BM cannot run a kernel"),
        ((passa(Source(Mem.LM0, 3)),), "width of 3 words; expected 1, 2 or 4"),
        ((passa(X, Dest(Mem.LM0, 3)),), "width of 3 words; expected 1, 2 or 4"),
        ((passa(X, Dest(Mem.BAR0, 4)),), "written with 4 words; expected 1 or 2"),
        ((passa(Source(Mem.OMR)),), "OMR cannot be read"),
        ((passa(X, Dest(Mem.ALUF)),), "ALUF cannot be written"),
        ((passa(Source(Mem.FIXED, element_bits=8)),), "element_bits 8; expected 16, 32 or 64"),
        ((Compute(Unit.ALU, PASSA, (X,) * 4, ()),), "4 sources; expected at most 3"),
        ((Compute(Unit.ALU, PASSA, (X,), (), params=(0,) * 8),), "at most 7 parameters, 8 were given"),
        ((Compute(Unit.MAU, PASSA, (X,), (), plane=2),), "matrix plane 2; expected 0 .x. or 1 .y."),
        ((passa(X, dst(Mem.GRF1, mask=MaskRef(32))),), "mask register entry 32 does not exist"),
        ((PeStore(Unit.L1BM, FAR, 0, X),), "far leaves the 256 long words of the turnaround register"),
        ((L2Move(Unit.L2BM, L2Kind.DOWN, L2BMB, members=(8,)),), "L1B 8 does not exist; expected 0..7"),
        ((L2Move(Unit.L2BM, L2Kind.INNER, L2BMB, inner=((0, 9),)),), "L1B 9 does not exist; expected 0..7"),
        ((L2Move(Unit.L2BM, L2Kind.UP, WIDE),), "wide moves 80 long words of an L1B; expected at most 64"),
    ],
)
def test_impossible_steps_are_refused_with_their_line(items: tuple[Item, ...], message: str) -> None:
    with pytest.raises(LoweringError, match=f"line 2: .*{message}"):
        lower(program(NOP, step(*items)), small_board().topology)


def test_a_nop_stands_alone() -> None:
    with pytest.raises(LoweringError, match="line 1: a nop with other items"):
        lower(program(Step(items=(passa(X),), nop=True)))


def test_a_program_fits_boards_of_its_size_only() -> None:
    with pytest.raises(LoweringError, match="lowered for"):
        lower(program(NOP)).run(small_board())


def test_an_empty_program_changes_nothing() -> None:
    board = random_board(seed=7)
    run(board)
    assert differences(board, random_board(seed=7)) == []


def block_floats(board: Board) -> None:
    """GRF0 (x) and both matrix planes: halves with one exponent."""
    for array in (board.grf, board.matrix):
        array[:] = 0x3E003E003E003E00


@pytest.mark.parametrize(("place", "threads"), [((2, 1, 3, 9), 1), ((0, 0, 0, 0), 2), ((3, 1, 7, 15), 2)])
def test_mixed_exponents_name_line_and_mab(place: tuple[int, int, int, int], threads: int) -> None:
    board = random_board()
    block_floats(board)
    board.view(Memory.GRF0)[(*place, 2, 3)] = 0x3E003E003E004200
    item = Compute(Unit.MAU, MAU_MATRIX[("mmul", "h", False, "")], (X,), (dst(Mem.LM0, 4),), plane=1)
    filler = [passa(X, dst(Mem.GRF1))] * 40
    with pytest.raises(MixedExponents, match="line 41: the vector of cycle 3") as caught:
        run(board, *filler, item, *filler, threads=threads)
    assert caught.value.place == place


def test_the_earliest_line_is_reported() -> None:
    """A later L2B that fails earlier wins, whatever the number of threads."""
    board = random_board()
    block_floats(board)
    board.matrix[0, 0, 5 * 64] = 0x3E003E003E004200
    board.matrix[63, 1, 5 * 64 + 7] = 0x3E003E003E004200
    kernel = MAU_MATRIX[("mmul", "h", False, "")]
    items = [Compute(Unit.MAU, kernel, (X,), (dst(Mem.LM0, 4),), plane=plane) for plane in (1, 0)]
    for threads in (1, 2, 8):
        with pytest.raises(MixedExponents, match=r"line 1: row 5 of the matrix .* group 3, L2B 1, L1B 7, MAB 7"):
            run(board, *items, *[passa(X, dst(Mem.GRF1))] * 40, threads=threads)


def test_sources_without_room_are_refused() -> None:
    """Nobody can write such a line; the engine says so instead of overwriting a tile."""
    kernel = ALU_INT[("add", "l", False)]
    items = (
        Compute(Unit.ALU, kernel, tuple(src(Mem.GRF0, 2, k, j=0) for k in range(0, 6, 2)), ()),
        Compute(Unit.MAU, kernel, tuple(src(Mem.GRF1, 2, k, j=0) for k in range(0, 6, 2)), ()),
        Compute(Unit.MWRITE, kernel, tuple(src(Mem.LM0, 2, k, j=0) for k in range(0, 6, 2)), ()),
    )
    with pytest.raises(LoweringError, match="more than 8 operands"):
        run(random_board(), step(*items))


def test_kernels_see_their_parameters_and_matrix() -> None:
    from hw.kernels.matrix_move import MREAD, MWRITE

    board = random_board()
    value = board.view(Memory.GRF0)[..., :4].copy()
    run(
        board,
        Compute(Unit.MWRITE, MWRITE[("d", 1)], (X,), (), params=(1,), plane=1),
        Compute(Unit.MREAD, MREAD[("d", 1)], (), (dst(Mem.GRF1),), params=(2,), plane=1),
    )
    rows = board.view(Memory.MATRIX_Y)[..., ::4, :]  # logical row r is physical row 4r
    assert np.array_equal(rows[..., [1, 2, 3, 0], :], value.transpose(0, 1, 2, 3, 5, 4))
    got = board.view(Memory.GRF1)[..., :4]  # PE p gets element (row p, column (2 + c) mod 4)
    assert np.array_equal(got, rows[..., :, [2, 3, 0, 1]])
