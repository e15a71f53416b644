"""A suite for a small program; run it with `pytest docs/examples/test_vsm.py`."""

import numpy as np
import pytest

AXPY = "fvfma $lr0v $ls0v $lm0v $ln0v"  # LM1 = GRF0 * GRF1 + LM0, four long words, in every PE


@pytest.mark.parametrize("seed", range(3))
def test_axpy(board, check_program, seed):
    a, x, y = (np.random.default_rng(seed).integers(-99, 99, (3, 4, 2)) / 4).astype(np.float32)
    for memory, values in ((board.grf[0], a), (board.grf[1], x), (board.lm[0], y)):
        memory[:, :4] = values[:, ::-1].copy().view(np.uint64)[..., None]  # the first float is the upper half
    check_program(AXPY, {"$ln0n3c1b7m15p3": a * x + y}, dtype="f", count=4, board=board)


@pytest.mark.board(pattern=0x3F8000003F800000)  # every float is 1.0
def test_a_program_on_a_filled_board(board, assembler, check_program):
    check_program(assembler(AXPY), {"$ln0n0c0b0": 2.0}, dtype="f", count=4, board=board)
