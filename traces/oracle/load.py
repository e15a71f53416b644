"""Reading recorded vectors: programs with the exact dump lines of the official tools, and all committed programs."""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_TRACES = FOLDER.parent
_GOLDENS = _TRACES.parent / "tests" / "data" / "goldens.json.xz"


@dataclass(frozen=True)
class Vector:
    """A program (`mode` is `flat` or `auto`) and its dump lines."""

    id: str
    mode: str
    text: str
    dump: tuple[str, ...]


def read_family(path: Path) -> list[Vector]:
    """The vectors of one `<family>.jsonl.xz`."""
    with lzma.open(path, "rt", encoding="utf-8") as rows:
        records = [json.loads(row) for row in rows]
    return [Vector(record["id"], record["mode"], record["vsm"], tuple(record["dump"])) for record in records]


def families(folder: Path = FOLDER) -> list[Path]:
    """The family files of a folder, by name."""
    return sorted(folder.glob("*.jsonl.xz"))


def committed_texts(leave_out: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """(text, mode) of every program whose values a test of this project checks: vectors, records, golden facts."""
    for path in families():
        if path.name.partition(".")[0] not in leave_out:
            yield from ((vector.text, vector.mode) for vector in read_family(path))
    for folder in ("records_mnist", "records_challenge"):
        yield from ((path.read_text(), "flat") for path in sorted((_TRACES / folder).glob("*.vsm")))
    if _GOLDENS.exists():
        with lzma.open(_GOLDENS, "rt", encoding="utf-8") as text:
            yield from ((golden["instruction"] + "\n", "flat") for golden in json.load(text))
