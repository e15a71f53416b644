"""Runs a study: what is on disk already is taken from there, the rest is simulated, then the tables are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runtime.files import write_atomically
from runtime.studies.point import Outcome, Point, model_digest
from runtime.studies.pools import LocalPool, Pool
from runtime.studies.programs import StudyProgram, find_programs
from runtime.studies.store import Store
from runtime.studies.study import Study
from runtime.studies.table import Row, layer_rows, result_rows, write_tables

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class StudyResult:
    """What a study found.  `reused` points were on disk, `simulated` ones are new; `files` are the tables."""

    rows: list[Row]
    layers: list[Row]
    reused: int
    simulated: int
    files: list[Path]

    @property
    def failed(self) -> list[Row]:
        """Rows of points that the time model refused."""
        return [row for row in self.rows if row["status"] != "ok"]


def run_study(
    study: Study, out: Path, *, pool: Pool | None = None, on_progress: OnProgress | None = None
) -> StudyResult:
    """Simulate every program of `study` on every chip and write the tables into the folder `out`.

    A point is written as soon as it is known, under a name made of program, chip and time model; so after an
    interruption, or after the study has grown, only missing points are simulated.  A point that the time model
    refuses becomes a row with status `failed` and is tried again next time.  `on_progress(done, total)` is called
    after every point.  Raises StudyError, and the errors of programs that cannot be read.
    """
    programs = find_programs(study.programs, study.folder)
    points = [Point(program, chip) for program in programs for chip in study.chips]
    _describe(study, programs, out)
    store = Store(out)
    outcomes: dict[str, Outcome] = {}
    missing: dict[str, Point] = {}
    for point in points:
        known = store.load(point)
        if known is None:
            missing.setdefault(point.key, point)
        else:
            outcomes[point.key] = known
    total = len(outcomes) + len(missing)
    reused = len(outcomes)
    report = on_progress or (lambda done, total: None)
    report(reused, total)
    for point, outcome in (pool or LocalPool()).run(list(missing.values())):
        if "error" not in outcome:
            store.save(point, outcome)
        outcomes[point.key] = outcome
        report(len(outcomes), total)
    rows, layers = result_rows(study, points, outcomes), layer_rows(study, points, outcomes)
    return StudyResult(rows, layers, reused, len(missing), write_tables(rows, layers, out))


def _describe(study: Study, programs: list[StudyProgram], out: Path) -> None:
    """study.json: what the tables of this folder are about, with every number that was set."""
    content = {
        "study": study.name,
        "baseline": study.baseline,
        "programs": {program.name: program.stream.digest for program in programs},
        "chips": {c.name: {"overrides": dict(c.overrides), "spec_digest": c.spec.digest} for c in study.chips},
        "time_model": model_digest(),
    }
    write_atomically(out / "study.json", json.dumps(content, indent=1) + "\n")
