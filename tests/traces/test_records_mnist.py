"""Own solutions of the challenge's MNIST set: right on random cases, at or below the published line counts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import traces.records_mnist
from hw.state.board import Board
from isa.assemble import assemble
from isa.commands.judge import judge as judge_file
from traces.records_mnist import build
from traces.records_mnist.judge_case import judge_case
from traces.records_mnist.layout import Grid
from traces.records_mnist.problem import R
from traces.records_mnist.problems import PROBLEMS
from traces.records_mnist.run import judge, mismatches, poke, score

FOLDER = Path(traces.records_mnist.__file__).parent
RECORDS = {row["problem"]: row for row in json.loads((FOLDER / "records.json").read_text())}
SEEDS = (1, 2)
SMALL = ("dram_dl_16", "dram_ul_16", "gather_sum", "sum_col", "sum_row_mini", "matmul_trb_mab_lm_4_8_16")


def _solution(name: str) -> str:
    return (FOLDER / f"{name}.vsm").read_text()


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_word_and_copy_is_right(name: str, board: Board) -> None:
    program = assemble(_solution(name))
    assert [judge(PROBLEMS[name], program, board, seed) for seed in SEEDS] == [0, 0]


def test_every_problem_has_a_record_and_a_file() -> None:
    assert list(RECORDS) == list(PROBLEMS)
    assert {path.stem for path in FOLDER.glob("*.vsm")} == set(PROBLEMS)


def test_records_are_the_counts_of_the_files() -> None:
    assert build.table({name: _solution(name) for name in PROBLEMS}) == list(RECORDS.values())


@pytest.mark.parametrize("name", [name for name, problem in PROBLEMS.items() if problem.par is not None])
def test_score_is_at_most_par_and_top(name: str) -> None:
    row = RECORDS[name]
    assert row["score"] <= row["par"]
    assert row["top"] is None or row["score"] <= row["top"]


@pytest.mark.parametrize("name", PROBLEMS)
def test_generator_is_no_worse_than_the_committed_file(name: str) -> None:
    assert score(assemble(build.solution(name))).total <= RECORDS[name]["score"]


@pytest.mark.parametrize("name", SMALL)
def test_judge_accepts_the_case_file(name: str) -> None:
    verdict = judge_file(judge_case(PROBLEMS[name], 3), _solution(name))
    assert verdict.accepted
    assert verdict.score == RECORDS[name]["score"]


def test_judge_refuses_a_wrong_solution() -> None:
    case = judge_case(PROBLEMS["sum_row_mini"], 3)
    verdict = judge_file(case, _solution("sum_row_mini").replace("fvadd $lm2v4", "fvadd $lm4v4"))
    assert len(verdict.mismatches) == 4


def test_a_missing_copy_is_noticed(board: Board) -> None:
    """Words that differ in one MAB only count as wrong."""
    problem = PROBLEMS["relu"]
    assert judge(problem, assemble(_solution("relu")), board, 1) == 0
    board.lm[1, 5, 3, 2, 7] ^= np.uint64(1 << 62)  # the exponent of one word
    inputs = problem.make(np.random.default_rng(1))
    assert mismatches(problem, board, problem.expect(*inputs)) == 1


def test_layout_of_the_published_example() -> None:
    """Row 32 q + 8 k + b, column 8 u + 2 p + w (isa.md 16.3)."""
    at = Grid((256, 16), R).coordinates
    row, column = 32 * 5 + 8 * 2 + 6, 8 * 1 + 2 * 3 + 1
    place = {level: int(at[level][row, column]) for level in at}
    assert place == {"L2B": 5, "L1B": 6, "MAB": 0, "PE": 3, "ADDR": 2 * 2 + 1, "W": 1}


def test_layout_must_fit_the_shape() -> None:
    with pytest.raises(ValueError, match="holds"):
        _ = Grid((8, 16), R).axes


def test_inputs_reach_every_copy(board: Board) -> None:
    board.reset()
    tensor = PROBLEMS["sub_rowvec"].inputs[1]
    poke(board, tensor, np.arange(256, dtype=np.float32))
    words = board.lm[0, :, 128].reshape(8, -1)  # rows 64 g and 64 g + 1 in the two words
    first = np.array([64 * (q // 2) for q in range(8)], np.float32).view(np.uint32)
    assert np.array_equal(words >> np.uint64(32), np.repeat(first[:, None], words.shape[1], 1))
