"""Which items may share a line: rules one by one, and recorded verdicts of the official assembler."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from hw.program import Step
from hw.sanitizer import lineset
from hw.sanitizer.lineset import LineState, conflicts
from hw.sanitizer.profile import profile
from isa import parse_item

SETS = Path(__file__).parents[1] / "data" / "line_sets.jsonl.xz"


def why(text: str) -> str:
    """The first conflict of a line, or ""."""
    found = conflicts([parse_item(part) for part in text.split(";")])
    return found[0].what if found else ""


@pytest.mark.parametrize(
    "text",
    [
        "ladd $lr0v $ls0v $ln0v; fvmul $lr0v $ls0v $lm0v",
        "lpassa $lm0v2 $ls0v; fvpassa $lr0v $lm0v",
        "fvfma $lr0v $ls0v $t $ln0v; fmwrite $ls0v $lx0",
        "gmwrite $ls0v $ly0; gmread $lx0 $lm0v",
        "l2bm@0 $lb0 $lc0; l1bmm@0 $lr0v $lb0; l2bmdarw",
        "l1bmd $lbi $lr0v; l1bmm@0 $ls8v $lb0",
        "lpassa $lr0v $ls0v/$imr1 $omr1; fvpassa $lr0v $ln0v/$imr1",
        "lpassa/1000 $lr0v $ls0v; fvpassa $lr0v $ln0v",
        "lpassa $lm0vj1 $ls0v; fvpassa $ln0vj2 $lr0v",
    ],
)
def test_legal_lines(text: str) -> None:
    assert why(text) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("linc $lr0v $ls0v; ldec $lm0v $ln0v", "a second item of unit ALU"),
        ("ladd $lr0v $ls0v $ln0v; fvmul $lr0v $ls0v $ln8v", "LM1 is written by two items"),
        ("lpassa $lr0v $mb; fvpassa $ls0v $lm0v", "LM0 is written by two items"),
        ("lpassa $lr0v $ln0v; l1bmm@0 $lr8v $lb0", "GRF0 is accessed at two places"),
        ("lpassa $lr[0,2,4,6] $ls0v; fvpassa $lr0v $ln0v", "GRF0 is accessed at two places"),
        ("lpassa $lm0v $ls0v; fvpassa $lr0v $m0v", "LM0 is accessed at two places"),
        ('imm i"1" $r0; l1bmm $lb0 $lm0v', "an immediate shares its field"),
        ("lpassa $lr0v $ls0v/1000; fvpassa $lr0v $ln0v/0100", "two different masks"),
        ("lpassa $lr0v $ls0v/$imr1; fvpassa $lr0v $lln0v/$imr1p", "masked destinations of 2LW"),
        ("lpassa/1000 $lr0v $ls0v; fvpassa/1000 $lr0v $ln0v", "two zero flushes"),
        ("gmmul $lx $lr0v $ln0v; fmwrite $ls0v $ly0", "MAU items of precisions g and f"),
        ("fvmul $lr0v $ls0v $ln0v; fmwrite $lr0v $lx0", "vfma/vmul and mwrite must share"),
        ("gmmul $lx $lr0v $ln0v; gmread $lx0 $lm0v", "matrix register x is used twice"),
        ("fvadd $lr0v $ls0v $ln0v; fmread $lx0 $lm0v; fmwrite $t $ly0", "more than two of MAU"),
        ("l1bmd $ls0v $lbi; l1bmm $lb0 $lr0v", "a second item of unit L1BM"),
        ("l1bmd $lbi $lr0v; l1bmd $lb0 $ls0v", "two L1BM->PE transfers"),
        ("lpassa $lr0v $ls0v $ls8v", "GRF1 is written twice by one item"),
        ("ladd $lr0v $lr2v $ln0v", "GRF0 is accessed at two places by one item"),
    ],
)
def test_conflicts(text: str, reason: str) -> None:
    assert why(text).startswith(reason)


def test_recorded_verdicts_of_the_official_assembler() -> None:
    for row in lzma.decompress(SETS.read_bytes()).decode().splitlines():
        record = json.loads(row)
        found = conflicts([parse_item(text) for text in record["items"]])
        assert bool(found) == record["refused"], (record, [v.what for v in found])


def test_strict_state_keeps_apart_what_depends_on_latches() -> None:
    first, second = profile(parse_item("lpassa $aluf $t/1000")), profile(parse_item("fvpassa $lr0v $ls0v/1000"))
    for strict in (False, True):
        state = LineState(strict=strict)
        state.add(first)
        assert bool(state.clash(second)) == strict


def test_check_reports_the_line() -> None:
    items = (parse_item("linc $lr0v $ls0v"), parse_item("ldec $lm0v $ln0v"))
    (violation,) = lineset.check(Step(items, line=7))
    assert violation.line == 7 and violation.message.startswith("line 7: a second item of unit ALU: ldec")
    assert lineset.check(Step(items[:1], line=7)) == []
