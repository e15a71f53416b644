"""Recorded programs: vectors with the exact dump lines of the official tools, and every program a test checks.

A family is a file `<family>.jsonl.xz`, one JSON object a line: `id`, `mode` (`flat` or `auto`), `vsm`, `dump`.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_RECORDS = ("records_mnist", "records_challenge")
_GOLDENS = Path("tests") / "data" / "goldens.json.xz"


@dataclass(frozen=True)
class Vector:
    """A program and its dump lines."""

    id: str
    mode: str
    text: str
    dump: tuple[str, ...]


def families(folder: Path) -> list[Path]:
    """The family files of a folder, by name."""
    return sorted(folder.glob("*.jsonl.xz"))


def read_family(path: Path) -> list[Vector]:
    """The vectors of one family."""
    with lzma.open(path, "rt", encoding="utf-8") as rows:
        records = [json.loads(row) for row in rows]
    return [Vector(record["id"], record["mode"], record["vsm"], tuple(record["dump"])) for record in records]


def recorded_texts(traces: Path, leave_out: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """(text, mode) of every program below `traces`, and of the golden facts beside it, whose values a test checks.

    `leave_out` names families that do not count.
    """
    for path in families(traces / "oracle"):
        if path.name.partition(".")[0] not in leave_out:
            yield from ((vector.text, vector.mode) for vector in read_family(path))
    for folder in _RECORDS:
        yield from ((path.read_text(encoding="utf-8"), "flat") for path in sorted((traces / folder).glob("*.vsm")))
    goldens = traces.parent / _GOLDENS
    if goldens.exists():
        with lzma.open(goldens, "rt", encoding="utf-8") as text:
            yield from ((golden["instruction"] + "\n", "flat") for golden in json.load(text))
