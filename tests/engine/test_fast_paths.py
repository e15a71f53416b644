"""Row kernels, direct results and dropped latches change no bit: random programs with and without them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from hw.engine import EngineError, lower
from hw.engine import layout as L
from hw.program import Program
from hw.state import Board
from isa.assemble import assemble
from isa.errors import AsmError
from tests.engine.build import random_board
from tests.sanitizer.random_code import Writer

ARRAYS = (
    "lm",
    "grf",
    "t",
    "masks",
    "bar",
    "matrix",
    "l1bm",
    "l2bm",
    "pdm",
    "turn",
    "latch_alu",
    "latch_mau",
    "latch_lbf",
    "latch_mread",
)
_MATRIX = (
    "hmfma $l{p} $lr0v $lln8v $llm8v",
    "hmfma $l{p} $lr0v $llm8v $llm8v",
    "hmfma $l{p} $lr0 $llm0v $lls0v",
    "hmfma $l{p} $lr0v $t $t",
    "hmmul $l{p} $lr0v $llm8v",
    "hmmul $l{p} $lr0v $lr0v",
    "hmwrite $lr0v $l{p}0",
    "hmwrite $lr0 $l{p}4",
    "hvfma $lr0v $ls0v $llm0v $llm0v",
    "hvfma $lr0 $ls0v $llm0v $lln0",
    "hvmul $lr0v $ls0v $lln0v",
    "hvadd $lr0v $llm0v $llm0v",
    "fvfma $lm0v $ln0v $ls0v $lm0v",
    "fvfma $lm0v $ln2v $ls0v $lm2v",
)


def random_program(seed: int) -> Program:
    """Statements of the general generator and of `_MATRIX`, now and then packed into one line where that is legal."""
    rnd = Random(seed)
    writer = Writer(rnd, transfers=False)
    lines: list[str] = []
    while len(lines) < 60:
        matrix = rnd.random() < 0.3
        if matrix:
            lines.append("hbfn/9 $lls0v $lr0v")
            line = rnd.choice(_MATRIX).format(p=rnd.choice("xy"))
        else:
            writer.latches = set()
            at = len(writer.lines)
            writer.statement()
            line = writer.lines[at]
        joined = f"{lines[-1]}; {line}" if lines and not matrix and rnd.random() < 0.5 else ""
        if joined and _legal(joined):
            lines[-1] = joined
        elif _legal(line):
            lines.append(line)
        if rnd.random() < 0.2:
            lines += ["ldec $lr0v $lr0v", f"{rnd.choice(('linc', 'lnot', 'spassa'))} $aluf $lr{2 * rnd.randrange(4)}v"]
    return assemble("\n".join(lines), check_hazards=False)


def _legal(line: str) -> bool:
    try:
        assemble(line, check_hazards=False)
    except AsmError:
        return False
    return True


def prepared_board(seed: int, *, bars: bool) -> Board:
    """Random memories, block floats of halves in GRF0 and most of the matrix."""
    board = random_board(seed)
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 1 << 64, board.grf[0].shape, dtype=np.uint64) & np.uint64(0x81FF81FF81FF81FF)
    exponents = rng.integers(24, 40, (board.grf.shape[1], board.grf.shape[2], 1, 16)).astype(np.uint64)
    board.grf[0] = block | exponents * np.uint64(0x0200020002000200)
    board.matrix[:] = np.tile(board.grf[0][:, 0].reshape(-1, 1, 64), (1, 2, 16))
    board.lm[1] &= np.uint64(0xBFFFFFFFBFFFFFFF)  # small singles
    if bars:
        board.bar[:, 3, 2, 5] = 4
    return board


@pytest.mark.parametrize("bars", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, bars: bool) -> None:
    program = random_program(seed)
    boards = []
    errors = []
    for fast, threads in ((False, 1), (True, 2)):
        board = prepared_board(seed, bars=bars)
        lowered = lower(program, board.topology, fast=fast)
        try:
            lowered.run(board, threads=threads)
        except EngineError as error:
            errors.append(str(error))
        boards.append(board)
    assert len(errors) in (0, 2) and len(set(errors)) <= 1
    if not errors:
        for name in ARRAYS:
            assert np.array_equal(getattr(boards[0], name), getattr(boards[1], name)), name


def test_items_of_one_long_word_do_not_hinder_each_other() -> None:
    """Both results go straight to their rows, although neither operand has a second long word."""
    text = "fvfma $lr0v $ls0v $ln0v $lr64v; l1bmm $lb0 $lm0v\nfvadd $lr0v $ls0v $lr64v; l1bmm $lb0 $lm0v"
    lowered = lower(assemble(text, check_hazards=False))._lowered
    assert [op[0] for op in lowered.ops if op[L.LINE] == 0] == [L.ROWS, L.LOAD_ROWS]
