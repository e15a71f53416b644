"""The tidy table of a study: one row per program and chip, one column per variable, as CSV, JSON and Parquet.

Columns: study, program, chip; every number that the study varies, by its ChipSpec name; status and error; cycles,
seconds, speedup (cycles of the baseline chip by those of this), lower_bound, steps, mv_count; `cause_*`, which add up
to cycles; `bound_*`, the same by what bounds them; `busy_*`, cycles of PE units and of the busiest port of each kind;
digests.  Layers have a table of their own.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hw.events import CAUSES, Cause
from hw.program import Unit
from runtime.files import write_atomically
from runtime.studies.point import Outcome, Point
from runtime.studies.study import Study

Row = dict[str, Any]
_UNITS = frozenset(unit.name for unit in Unit)


def result_rows(study: Study, points: Sequence[Point], outcomes: Mapping[str, Outcome]) -> list[Row]:
    """Rows in the order of `points`; all have the same columns."""
    baseline = {
        point.program.name: outcomes[point.key].get("vsm_cycles")
        for point in points
        if point.chip.name == study.baseline
    }
    kinds = list(dict.fromkeys(_kind(unit) for outcome in outcomes.values() for unit in outcome.get("by_unit", {})))
    bounds = list(dict.fromkeys(name for outcome in outcomes.values() for name in outcome.get("by_bound", {})))
    rows = []
    for point in points:
        outcome = outcomes[point.key]
        row: Row = {"study": study.name, "program": point.program.name, "chip": point.chip.name}
        row.update({name: point.chip.spec[name] for name in study.varied})
        row.update(_figures(outcome, baseline.get(point.program.name)))
        row.update(_partitions(outcome, bounds))
        row.update(_busy(outcome, kinds))
        row["program_digest"], row["spec_digest"] = point.program.stream.digest, point.chip.spec.digest
        rows.append(row)
    return rows


def _figures(outcome: Outcome, baseline: int | None) -> Row:
    cycles = outcome.get("vsm_cycles")
    status, error = ("failed", outcome["error"]) if "error" in outcome else ("ok", "")
    row: Row = {"status": status, "error": error, "cycles": cycles, "seconds": outcome.get("seconds")}
    row["speedup"] = baseline / cycles if baseline and cycles else None
    return row | {name: outcome.get(name) for name in ("lower_bound", "steps", "mv_count")}


def _partitions(outcome: Outcome, bounds: Sequence[str]) -> Row:
    """All causes, also those that never occur; nothing is known of a failed point."""
    by_cause, by_bound = outcome.get("by_cause"), outcome.get("by_bound")
    causes = [cause.value for cause in CAUSES if cause is not Cause.NONE]
    row: Row = {f"cause_{name}": None if by_cause is None else by_cause.get(name, 0) for name in causes}
    return row | {f"bound_{name}": None if by_bound is None else by_bound.get(name, 0) for name in bounds}


def _kind(unit: str) -> str:
    """A PE unit is its own kind; `DRAM g0` is a port of kind DRAM."""
    return unit if unit in _UNITS else unit.split()[0]


def _busy(outcome: Outcome, kinds: Sequence[str]) -> Row:
    by_unit = outcome.get("by_unit", {})
    return {
        f"busy_{kind}": max((n for unit, n in by_unit.items() if _kind(unit) == kind), default=None) for kind in kinds
    }


def layer_rows(study: Study, points: Sequence[Point], outcomes: Mapping[str, Outcome]) -> list[Row]:
    """One row per program, chip and layer; the cycles of a program's layers add up to its cycles."""
    return [
        {
            "study": study.name,
            "program": point.program.name,
            "chip": point.chip.name,
            "layer": region["name"],
            "start": region["start"],
            "cycles": region["end"] - region["start"],
        }
        for point in points
        for region in outcomes[point.key].get("regions", [])
    ]


def to_csv(rows: Sequence[Row]) -> str:
    """CSV with a header; an unknown value is empty."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def write_tables(rows: Sequence[Row], layers: Sequence[Row], out: Path) -> list[Path]:
    """results.csv, results.json, layers.csv and, where pyarrow is installed, results.parquet; returns the paths."""
    texts = {"results.csv": to_csv(rows), "results.json": json.dumps(rows, indent=1) + "\n"}
    if layers:
        texts["layers.csv"] = to_csv(layers)
    for name, text in texts.items():
        write_atomically(out / name, text)
    paths = [out / name for name in texts]
    if find_spec("pyarrow") is not None:
        paths.append(_write_parquet(rows, out / "results.parquet"))
    return paths


def _write_parquet(rows: Sequence[Row], path: Path) -> Path:
    import pyarrow
    import pyarrow.parquet

    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), buffer)
    write_atomically(path, buffer.getvalue().to_pybytes())
    return path
