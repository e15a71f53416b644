"""The solutions of traces/records_challenge: accepted, correct on seeded cases, and scored as records.json says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traces.records_challenge import generate, judge
from traces.records_challenge.problems import PROBLEMS, Problem
from traces.records_challenge.testcase import decode, encode

FOLDER = Path(generate.__file__).parent
RECORDS = json.loads((FOLDER / "records.json").read_text())
EACH = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)


@EACH
@pytest.mark.parametrize("seed", [0, 1])
def test_solution_is_accepted(problem: Problem, seed: int) -> None:
    assert judge.mismatches(problem.case(seed), problem.solution.read_text()) == []


@EACH
def test_record_is_the_counted_score(problem: Problem) -> None:
    score = judge.score(problem.solution.read_text())
    record = next(record for record in RECORDS if record["problem"] == problem.name)
    assert (record["j"], record["m"], record["score"]) == (score.j, score.m, score.total)
    assert record["own_statement"] == problem.own


def test_every_record_has_a_problem() -> None:
    assert [record["problem"] for record in RECORDS] == [problem.name for problem in PROBLEMS]


def test_no_solution_is_above_par() -> None:
    assert [r["problem"] for r in RECORDS if r["par"] is not None and r["score"] > r["par"]] == []


@pytest.mark.parametrize("name", generate.GENERATED)
def test_generated_file_is_current(name: str) -> None:
    assert (FOLDER / f"{name}.vsm").read_text() == generate.text(name)


def test_wrong_solution_is_found() -> None:
    """The judge is able to say no."""
    problem = PROBLEMS[0]
    wrong = problem.solution.read_text().replace("iinc $lm8v", "idec $lm8v")
    assert len(judge.mismatches(problem.case(0), wrong)) == 8


@pytest.mark.parametrize("dtype", ["Half", "Float", "Double", "Int", "UInt", "Long", "ULong"])
def test_encode_decode_round_trip(dtype: str) -> None:
    for value in (0, 1, 3, 100) if dtype.startswith("U") else (0, 1, -3, 100):
        assert decode(encode(np.float64(value) if dtype in ("Half", "Float", "Double") else value, dtype), dtype) == value
