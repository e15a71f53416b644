"""Full-chip steps per second of the value engine (4096 PEs x 4 cycles each), and the cost of a large MV.

`mixed` steps are a MAU op, an ALU op and an L1BM move; narrow programs differ in one L1B only.
`extra_info["steps/s"]` is the best round.  Run with `pytest tests/bench/test_engine_speed.py -o addopts=` to see them.
"""

from __future__ import annotations

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hw.engine import lower
from hw.kernels.alu_float import ALU_FLOAT
from hw.kernels.alu_int import ALU_INT
from hw.kernels.matrix_move import MWRITE
from hw.kernels.mau_matrix import MAU_MATRIX
from hw.kernels.mau_vector import MAU_VECTOR
from hw.program import Compute, Item, L2Kind, L2Move, Mem, MvForm, PeLoad, PeStore, Program, Source, Step, Unit
from hw.state import Board, LatchState
from tests.engine.build import (
    L2BMB,
    along,
    dram,
    dst,
    l1bmd,
    l1bmm,
    l2bm,
    mv,
    passa,
    program,
    src,
)

STEPS = 128
NARROW_STEPS = 4096


def _matrix_step(plane: int) -> Compute:
    kernel = MAU_MATRIX[("mfma", "h", False, "")]
    sources = (src(Mem.GRF0, 2), Source(Mem.LM1, 4, along(0, 4)))
    return Compute(Unit.MAU, kernel, sources, (dst(Mem.LM1, 4),), plane=plane)


def _fvfma() -> Compute:
    sources = (src(Mem.GRF0), src(Mem.GRF1), src(Mem.LM1))
    return Compute(Unit.MAU, MAU_VECTOR[("vfma", "f", False, "")], sources, (dst(Mem.LM1, 2, 64),))


def _four_items() -> tuple[Item, ...]:
    write = Compute(Unit.MWRITE, MWRITE[("h", 2)], (src(Mem.LM0, 4),), (), params=(0,), plane=1)
    relu = Compute(Unit.ALU, ALU_FLOAT[("relu", "h")], (src(Mem.GRF1), src(Mem.GRF1)), (dst(Mem.GRF0, 2, 64),))
    return (_matrix_step(0), write, relu, PeLoad(Unit.L1BM, l1bmm(2), 0, (dst(Mem.GRF1, 4, 64),)))


def _mixed(mau: Compute) -> tuple[Item, ...]:
    add = Compute(Unit.ALU, ALU_INT[("add", "i", False)], (Source(Mem.ALUF), src(Mem.GRF1, 2, 32)), (dst(Mem.GRF1),))
    return (mau, add, PeLoad(Unit.L1BM, l1bmm(), 0, (dst(Mem.LM0),)))


CASES: dict[str, tuple[Item, ...]] = {
    "lpassa": (passa(src(Mem.GRF0), dst(Mem.GRF1)),),
    "fvfma": (_fvfma(),),
    "hmfma": (_matrix_step(0),),
    "l1bmd down": (PeLoad(Unit.L1BM, l1bmd(), 0, (dst(Mem.GRF0),)),),
    "l1bmd up": (PeStore(Unit.L1BM, l1bmd(), 0, src(Mem.GRF0)),),
    "l2bmb": (L2Move(Unit.L2BM, L2Kind.DOWN, L2BMB, 0, 0),),
    "vliw": _four_items(),
    "mixed hmfma": _mixed(_matrix_step(0)),
    "mixed fvfma": _mixed(_fvfma()),
}


@pytest.fixture(scope="module")
def board() -> Board:
    """A whole chip with block floats of one exponent in the operands."""
    board = Board()
    rng = np.random.default_rng(1)
    block = np.uint64(0x3E003E003E003E00) | rng.integers(0, 512, 64, dtype=np.uint64)
    for rows in (board.grf[0], board.grf[1], board.lm[0][:, :32], board.lm[1][:, :32]):
        rows[:] = block.reshape(4, 16)
    board.matrix[:] = np.tile(block, 16)
    board.l1bm[:, :256] = block[0]
    board.l2bm[:, :256] = block[0]
    return board


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_steps_per_second(benchmark: BenchmarkFixture, board: Board, name: str, threads: int) -> None:
    board.alu_state = LatchState.VALID
    lowered = lower(Program((Step(items=CASES[name], line=1),) * STEPS))
    benchmark.pedantic(lowered.run, (board,), {"threads": threads}, rounds=5, warmup_rounds=1)
    _note_rate(benchmark, STEPS)


@pytest.mark.parametrize("name", ["lpassa", "fvfma", "hmfma", "mixed hmfma"])
def test_narrow_steps_per_second(benchmark: BenchmarkFixture, name: str) -> None:
    """All L1Bs but one are alike, so two are run."""
    board = Board()
    board.grf[0, 5, 3, 2, 1] = 7
    board.alu_state = LatchState.VALID
    lowered = lower(Program((Step(items=CASES[name], line=1),) * NARROW_STEPS))
    benchmark.pedantic(lowered.run, (board,), rounds=5, warmup_rounds=1)
    _note_rate(benchmark, NARROW_STEPS)


def test_broadcast_of_65536_long_words(benchmark: BenchmarkFixture, board: Board) -> None:
    """Should be about a millisecond."""
    lowered = lower(program(mv(MvForm.B_DRAM, 65536, dram(0), l2bm(0))))
    benchmark.pedantic(lowered.run, (board,), rounds=10, warmup_rounds=1)


def test_lowering(benchmark: BenchmarkFixture) -> None:
    """Steps lowered per second."""
    lines = tuple(Step(items=(passa(src(Mem.GRF0, 2, 2 * k), dst(Mem.GRF1)),), line=k) for k in range(STEPS))
    benchmark.pedantic(lower, (Program(lines),), rounds=3)
    _note_rate(benchmark, STEPS)


def _note_rate(benchmark: BenchmarkFixture, steps: int) -> None:
    if benchmark.stats is not None:
        benchmark.extra_info["steps/s"] = round(steps / benchmark.stats.stats.min)
