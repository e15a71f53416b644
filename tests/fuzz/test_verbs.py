"""`mncore2 fuzz`, `mncore2 coverage` and `mncore2 records`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isa.instructions import RECORDS
from runtime.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output, messages."""
    capsys.readouterr()
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_every_record_is_covered(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "coverage", "--json")
    data = json.loads(out)
    assert code == 0
    used = {row["instruction"] for row in data["table"] if row["uses"]}
    assert {record.name for record in RECORDS if record.lower is not None} - used == set()
    assert data["records_covered"] == data["records"]


def test_coverage_needs_the_traces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "coverage", "--traces", str(tmp_path))
    assert code == 2
    assert "has no folder `oracle`" in err


def test_records(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "records", "--json")
    assert code == 0
    rows = {(row["set"], row["problem"]): row for row in json.loads(out)}
    row = rows["challenge", "plus_one"]
    assert row["score"] == row["pe_lines"] + row["mv_lines"]
    assert row["par"] is not None
    assert ("mnist", "mat_sub") in rows


def test_fuzz_against_self(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "fuzz", "--against", "self", "--count", "1", "--items", "3", "--json")
    assert code == 0, err
    assert json.loads(out) == {"against": "self", "seed": 0, "programs": 1, "difference": None}


def test_fuzz_without_tools(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MNCORE2_OFFICIAL_ASSEMBLER", raising=False)
    code, _, err = run(capsys, "fuzz", "--against", "official")
    assert code == 2
    assert "MNCORE2_OFFICIAL_ASSEMBLER is not set" in err
