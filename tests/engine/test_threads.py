"""Results do not depend on the number of threads, nor on running a lowered program again."""

from __future__ import annotations

import numpy as np
import pytest

from hw.engine import lower
from hw.kernels.alu_int import ALU_INT
from hw.kernels.rrn import RRN
from hw.program import Compute, Dest, L2Kind, L2Move, MaskRef, Mem, MvForm, PeLoad, PeStore, Program, Source, Unit
from hw.state import Board
from tests.engine.build import (
    L2BMB,
    L2BMD,
    dst,
    l1bmd,
    l1bmm,
    l2bm,
    mv,
    pdm,
    program,
    random_board,
    src,
    step,
)

ARRAYS = ("lm", "grf", "t", "masks", "bar", "l1bm", "l2bm", "pdm", "turn", "latch_alu", "latch_mau", "latch_lbf")


def busy_program() -> Program:
    """Every kind of op, long enough to be shared between threads."""
    add = Compute(Unit.ALU, ALU_INT[("add", "i", False)], (src(Mem.GRF0), src(Mem.LM1)), (dst(Mem.GRF0), Dest(Mem.T)))
    flags = Compute(
        Unit.ALU, ALU_INT[("sub", "s", False)], (src(Mem.GRF1), src(Mem.GRF0)), (Dest(Mem.OMR, addr=(3,) * 4),)
    )
    masked = Compute(
        Unit.MAU, ALU_INT[("xor", "l", False)], (src(Mem.LM0), Source(Mem.T)), (dst(Mem.GRF1, mask=MaskRef(3)),)
    )
    bar = Compute(Unit.ALU, ALU_INT[("inc", "l", False)], (src(Mem.GRF1),), (Dest(Mem.BAR0, 2),))
    rrn = RRN[("l", "iadd")]
    round_trip = [
        step(add, PeStore(Unit.L1BM, l1bmd(), 0, src(Mem.LM0))),
        flags,
        step(masked, PeLoad(Unit.L1BM, l1bmd(), 0, (dst(Mem.LM0),))),
        bar,
        PeStore(Unit.L1BM, l1bmm(stages=2), 256, Source(Mem.T), first=rrn, last=rrn),
        L2Move(Unit.L2BM, L2Kind.UP, L2BMD, 0, 256),
        L2Move(Unit.L2BM, L2Kind.REDUCE, L2BMB, 256, 256, kernel=rrn),
        step(L2Move(Unit.L2BM, L2Kind.INNER, L2BMB, lb=256, lb2=320, inner=((0, 3), (4, 5))), add),
        L2Move(Unit.L2BM, L2Kind.DOWN, L2BMB, 256, 0, members=(1, 2, 7)),
    ]
    transfer = mv(MvForm.R_PDM, 256, l2bm(0), pdm(0, 1), first=rrn, last=rrn)
    return program(*round_trip * 6, transfer, mv(MvForm.D_PDM_L, 64, pdm(0, 1), l2bm(512)), *round_trip * 4)


def contents(board: Board) -> dict[str, np.ndarray]:
    return {name: getattr(board, name).copy() for name in ARRAYS}


@pytest.fixture(scope="module")
def alone() -> dict[str, np.ndarray]:
    board = random_board()
    lower(busy_program(), board.topology).run(board, threads=1)
    return contents(board)


@pytest.mark.parametrize("threads", [2, 3, 8, 64])
def test_any_number_of_threads(threads: int, alone: dict[str, np.ndarray]) -> None:
    board = random_board()
    lower(busy_program(), board.topology).run(board, threads=threads)
    for name, array in contents(board).items():
        assert np.array_equal(array, alone[name]), name


def test_a_lowered_program_runs_again_on_other_boards(alone: dict[str, np.ndarray]) -> None:
    lowered = lower(busy_program(), random_board().topology)
    for _ in range(2):
        board = random_board()
        lowered.run(board, threads=2)
        assert all(np.array_equal(array, alone[name]) for name, array in contents(board).items())
