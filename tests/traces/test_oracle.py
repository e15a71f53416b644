"""Recorded programs against the official tools' dumps: every line of every program, to the last character.

`traces/oracle` is a selection; the whole folder of vectors runs where MNCORE2_ORACLE names it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from hw.engine import execute
from hw.state import Board
from isa import assemble
from isa.dump import debug_handler
from isa.errors import IsaError
from isa.vectors import Vector, families, read_family

FOLDER = Path(__file__).parents[2] / "traces" / "oracle"
VARIABLE = "MNCORE2_ORACLE"
MOST_BYTES = 600_000
# Programs of many different ALU items, each of which the engine compiles; the default run takes every third.
MANY_ITEMS = re.compile(r"catalogue/(\d+)-alu")


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def difference(vector: Vector, board: Board) -> str:
    """The first difference of one program, "" if there is none."""
    out: list[str] = []
    board.reset()
    program = assemble(vector.text, mode="flat" if vector.mode == "flat" else "auto_stride")
    execute(program, board, on_debug=debug_handler(out))
    for number, (got, expected) in enumerate(zip(out, vector.dump, strict=False)):
        if got != expected:
            return f"{vector.id}, dump line {number}:\n  expected {expected}\n  got      {got}"
    if len(out) != len(vector.dump):
        return f"{vector.id}: {len(out)} dump lines, expected {len(vector.dump)}"
    return ""


def is_fast(vector: Vector) -> bool:
    """Whether the default run takes this program."""
    found = MANY_ITEMS.fullmatch(vector.id)
    return found is None or int(found[1]) % 3 == 0


@pytest.mark.filterwarnings("ignore::isa.errors.AsmWarning")
@pytest.mark.parametrize("path", families(FOLDER), ids=lambda path: path.name.partition(".")[0])
def test_selection(path: Path, board: Board) -> None:
    vectors = [vector for vector in read_family(path) if is_fast(vector)]
    assert vectors
    assert [text for text in (difference(vector, board) for vector in vectors) if text] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::isa.errors.AsmWarning")
def test_rest_of_the_selection(board: Board) -> None:
    vectors = [vector for path in families(FOLDER) for vector in read_family(path) if not is_fast(vector)]
    assert [text for text in (difference(vector, board) for vector in vectors) if text] == []


def test_selection_is_small() -> None:
    assert sum(path.stat().st_size for path in families(FOLDER)) < MOST_BYTES


def whole_folder() -> Path:
    """The folder that the variable names; the test is skipped without it."""
    name = os.environ.get(VARIABLE)
    if not name:
        pytest.skip(f"{VARIABLE} names no folder of vectors")
    folder = Path(name)
    assert families(folder), f"{VARIABLE}={name} holds no *.jsonl.xz"
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::isa.errors.AsmWarning")
def test_whole_folder(board: Board) -> None:
    vectors = [vector for path in families(whole_folder()) for vector in read_family(path)]
    assert [text for text in (difference(vector, board) for vector in vectors) if text] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::isa.errors.AsmWarning")
def test_refusals() -> None:
    path = whole_folder() / "refusals.jsonl"
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    wrong = []
    for row in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(row)
        try:
            assemble(record["vsm"], mode="flat" if record["mode"] == "flat" else "auto_stride")
            verdict = "accepted"
        except IsaError:
            verdict = "refused"
        if verdict != record["verdict"]:
            wrong.append(f"{record['id']}: {verdict} here, {record['verdict']} there: {record['vsm']!r}")
    assert wrong == []
