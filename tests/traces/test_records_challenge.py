"""The solutions of traces/records_challenge: accepted on seeded cases, with the score that records.json says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isa.commands.judge import judge
from traces.records_challenge import generate
from traces.records_challenge.problems import PROBLEMS, Problem
from traces.records_challenge.testcase import encode

FOLDER = Path(generate.__file__).parent
RECORDS = json.loads((FOLDER / "records.json").read_text())
# A problem without input has one case only.
CASES = [pytest.param(p, seed, id=f"{p.name}-{seed}") for p in PROBLEMS for seed in range(2 if p.inputs else 1)]


@pytest.mark.parametrize(("problem", "seed"), CASES)
def test_solution_is_accepted_with_the_recorded_score(problem: Problem, seed: int) -> None:
    verdict = judge(problem.case(seed), problem.solution.read_text())
    assert verdict.mismatches == ()
    assert verdict.accepted
    record = next(record for record in RECORDS if record["problem"] == problem.name)
    assert (record["j"], record["m"], record["score"]) == (verdict.steps, verdict.transfers, verdict.score)
    assert record["own_statement"] == problem.own


def test_every_record_has_a_problem() -> None:
    assert [record["problem"] for record in RECORDS] == [problem.name for problem in PROBLEMS]


def test_no_solution_is_above_par() -> None:
    assert [r["problem"] for r in RECORDS if r["par"] is not None and r["score"] > r["par"]] == []


@pytest.mark.parametrize("name", generate.GENERATED)
def test_generated_file_is_current(name: str) -> None:
    assert (FOLDER / f"{name}.vsm").read_text() == generate.text(name)


def test_wrong_solution_is_found() -> None:
    problem = PROBLEMS[0]
    wrong = problem.solution.read_text().replace("iinc $lm8v", "idec $lm8v")
    verdict = judge(problem.case(0), wrong)
    assert (verdict.correct, len(verdict.mismatches)) == (8, 8)


@pytest.mark.parametrize(
    ("value", "dtype", "bits"),
    [
        (1.0, "Half", 0x3E00),
        (-3.0, "Half", 0xC100),
        (0.0, "Half", 0),
        (-2.0, "Float", 0xC0000000),
        (1.0, "Double", 0x3FF0000000000000),
        (-1, "Int", 0xFFFFFFFF),
        ((1 << 64) - 1, "ULong", (1 << 64) - 1),
    ],
)
def test_encode(value: float, dtype: str, bits: int) -> None:
    assert encode(value, dtype) == bits
