"""Verdicts of the official assembler on single points, random items, mutations and random lines (own programs).

Every row holds a text, the mode, the verdict and a kind.  Rows where this assembler differs on purpose are not among
them; they are listed in `DEPARTURES`.
"""

from __future__ import annotations

import json
import lzma
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from isa import AsmError, assemble
from isa.coverage import covered_spellings
from isa.instructions import RECORDS

_DATA = Path(__file__).parents[1] / "data" / "isa_refusals.jsonl.xz"

# Accepted by the official assembler although it does not encode what the text says; refused here.
DEPARTURES = [
    ("gmwrite $lr0v $lx0; gmwrite $lr0v $ly0", "flat", "line/group"),
    ("gmread $lx0 $lr0v; gmread $ly0 $ls0v", "flat", "line/group"),
    ("lpassa $ls0v $lr[0,2,4,6]", "auto_stride", "mode/list"),
    ("l2bmb $lc0 $lbi", "flat", "operand/place"),
    ("l1bmd1 $lb0 $lr0v", "flat", "item/mnemonic"),
    ("l1bmd/1000+1 $lb0 $lr0v", "flat", "mask/text"),
    ("l1bmd/1000 $lr0v $lb0", "flat", "item/zero-flush"),
    ("zerop $lr0v", "flat", "item/mnemonic"),
    ("fmwrite $lr0ve $lx0; fvmul $ls0v $lr0v $ln0v", "flat", "line/mwrite-source"),
    ("l1bmm@0 $lr0v $lb0\nnop/5\nl1bmm $lb64 $lr0v; l1bmm@0 $ls0v $lbi", "flat", "line/l1bm"),
    ("d get $lm0b0n0 1", "flat", "debug/location"),
]


@lru_cache(maxsize=1)
def _rows() -> list[dict[str, Any]]:
    with lzma.open(_DATA, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("part", range(8))
def test_verdicts(part: int) -> None:
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in _rows()[part::8]:
            try:
                assemble(row["text"], mode=row["mode"])
                accepted, message = True, ""
            except AsmError as error:
                accepted, message = False, str(error)
                assert error.rule and error.message and error.line, row["text"]
            if accepted != row["accepted"]:
                wrong.append((row["text"], row["accepted"], message))
    assert not wrong


@pytest.mark.parametrize(("text", "mode", "rule"), DEPARTURES)
def test_departures(text: str, mode: Any, rule: str) -> None:
    with pytest.raises(AsmError) as caught:
        assemble(text, mode=mode)
    assert caught.value.rule == rule


def test_the_verdicts_exercise_every_record() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = covered_spellings(row["text"] for row in _rows() if row["accepted"])
    missing = [record.name for record in RECORDS if record.lower and not any(name == record.name for name, _ in found)]
    assert not missing
