"""The main columns of a study, for the terminal and for pages; the tables on disk have all columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.studies.table import Row

HEAD = ("program", "chip", "cycles", "speedup", "lower bound", "compute", "transfer", "waiting", "other")


def summary(rows: Sequence[Row]) -> list[list[Any]]:
    """Cells under `HEAD`: `waiting` are all stalls at a `wait`, `other` is the rest; the reason of a failed point."""
    return [_cells(row) for row in rows]


def _cells(row: Row) -> list[Any]:
    if row["status"] != "ok":
        return [row["program"], row["chip"], *[None] * 6, row["error"]]
    waiting = sum(n for name, n in row.items() if name.startswith("cause_wait_") and name != "cause_wait_step")
    known = [row["cause_compute"], row["cause_transfer"], waiting]
    speedup = None if row["speedup"] is None else round(row["speedup"], 3)
    start = [row["program"], row["chip"], row["cycles"], speedup, row["lower_bound"]]
    return [*start, *known, row["cycles"] - sum(known)]


def markdown(rows: Sequence[Row]) -> str:
    """The same as a Markdown table."""
    lines = ["| " + " | ".join(HEAD) + " |", "| --- | --- |" + " ---: |" * (len(HEAD) - 2)]
    lines += ["| " + " | ".join(_text(cell) for cell in cells) + " |" for cells in summary(rows)]
    return "\n".join(lines) + "\n"


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell).replace("|", "\\|").replace("*", "\\*")
