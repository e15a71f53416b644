"""Results of points on disk: one file per key, complete or absent, so that a study goes on where it was interrupted."""

from __future__ import annotations

import json
from pathlib import Path

from runtime.files import write_atomically
from runtime.studies.point import Outcome, Point

FOLDER = "points"


class Store:
    """The folder `points` of a study's output."""

    def __init__(self, out: Path) -> None:
        self._folder = out / FOLDER

    def load(self, point: Point) -> Outcome | None:
        """The stored outcome of a point; None when there is none or the file is damaged (it will be written again)."""
        try:
            content = json.loads(self._path(point).read_text(encoding="utf-8"))
            timing = content["timing"]
            return timing if isinstance(timing["vsm_cycles"], int) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, point: Point, timing: Outcome) -> None:
        """Write one outcome with what it is the outcome of."""
        content = {
            "program": point.program.name,
            "chip": point.chip.name,
            "overrides": dict(point.chip.overrides),
            "timing": timing,
        }
        write_atomically(self._path(point), json.dumps(content, indent=1) + "\n")

    def _path(self, point: Point) -> Path:
        return self._folder / f"{point.key}.json"
