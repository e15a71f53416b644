"""L1Bs in equal state are run once: the same bits as running all of them, whatever differs and wherever."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from hw.engine import MixedExponents, lower
from hw.program import Program
from hw.state import Board, Memory
from isa.assemble import assemble
from tests.engine.test_fast_paths import ARRAYS
from tests.state.small import small_board

_LOWERING = import_module("hw.engine.lower")  # the package has a function of that name
_BODY = """
imm i"5" $lr0v
ladd $lr0v $ls0v $lm0v
iadd $lm0v $aluf $ln2j1; l1bmm $lb0 $lr4v
fvfma $lr0v $ls0v $ln0v $ln0v
l1bmd $lm0v $lb64
lsub $peid $lm0v $ls4v/1000 $t
l1bmrliadd $lr4v $lb128
l1bmd $lb64 $lr2v
ilsl $t $ls2v $omr2
sinc $lr2v $ls0v/$imr2
hbfn/9 $lls0v $lln8v
hmwrite $ln8v $lx0
hmfma $lx $ln8v $llm4v $llm4v
lpassa $mauf $lr6v
"""


def _program(extra: str = "") -> Program:
    return assemble((_BODY + extra) * 30, check_hazards=False)


def _differing(places: dict[tuple[int, ...], int]) -> Board:
    """A fresh board with a long word of LM0 changed at some PEs (n, c, b, m, p)."""
    board = small_board()
    for place, value in places.items():
        board.write_lw(Memory.LM0, 1, value, *place)
        board.write_lw(Memory.GRF1, 0, value, *place)
    return board


def _states(program: Program, board: Board, threads: int) -> dict[str, np.ndarray]:
    lower(program, board.topology).run(board, threads=threads)
    return {name: getattr(board, name).copy() for name in ARRAYS}


_PLACES: list[dict[tuple[int, ...], int]] = [
    {},
    {(0, 0, 0, 3, 1): 7},
    {(3, 1, 7, 15, 3): 1 << 40, (1, 0, 2, 0, 0): 9, (1, 0, 3, 0, 0): 9},
    {(n, c, b, 1, 2): 1 + n + 7 * b for n in range(4) for c in range(2) for b in range(8)},
]


@pytest.mark.parametrize("extra", ["", "lpassa $l1bid $lm2v\n", "l2bmb $lc0 $lb0\n"])
@pytest.mark.parametrize("places", _PLACES, ids=("none", "one", "three", "all"))
def test_same_as_without(monkeypatch: pytest.MonkeyPatch, places: dict[tuple[int, ...], int], extra: str) -> None:
    program = _program(extra)
    got = _states(program, _differing(places), threads=2)
    monkeypatch.setattr(_LOWERING, "_WORTH_COMPARING", 1 << 60)
    expected = _states(program, _differing(places), threads=1)
    for name in ARRAYS:
        assert np.array_equal(got[name], expected[name]), name


def test_registers_of_one_pe_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """T, mask registers and L1BMs make L1Bs unlike, too."""
    states = []
    for limit in (300, 1 << 60):
        monkeypatch.setattr(_LOWERING, "_WORTH_COMPARING", limit)
        board = small_board()
        board.view(Memory.T)[1, 1, 4, 2, 2] = 3
        board.view(Memory.MASK)[2, 0, 1, 5, 0, 2] = 9
        board.view(Memory.L1BM)[3, 0, 6, 5] = 77
        board.t_previous[:] = board.t
        program = assemble("lpassa $t $lm4v/$imr2\n" + _BODY * 20, check_hazards=False)
        states.append(_states(program, board, threads=1))
    assert all(np.array_equal(states[0][name], states[1][name]) for name in ARRAYS)


def test_the_first_of_equal_l1bs_is_blamed() -> None:
    board = small_board()
    board.view(Memory.GRF0)[:, :, :, 3, 0, 0] = 0x3E003E003E004200
    board.view(Memory.GRF0)[0, 0, 0] = 0
    board.matrix[:] = 0x3E003E003E003E00
    program = assemble("linc $ls0v $ls0v\n" * 200 + "hmmul $lx $lr0v $llm8v\n", check_hazards=False)
    with pytest.raises(MixedExponents, match=r"line 201: the vector of cycle 0 .* group 0, L2B 0, L1B 1, MAB 3"):
        lower(program, board.topology).run(board)
