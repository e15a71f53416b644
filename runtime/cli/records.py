"""`mncore2 records`: our line counts for the problems of the MN-Core Challenge beside the published ones."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import UsageError
from runtime.cli.output import print_json, print_table

_TRACES = Path(__file__).parents[2] / "traces"
_SETS = {"mnist": "records_mnist", "challenge": "records_challenge"}


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("records")(records)


def records(
    traces: Annotated[
        Path, typer.Option("--traces", metavar="FOLDER", help="The folder of recorded programs.")
    ] = _TRACES,
    json: Json = False,
) -> None:
    """Problem, our PE lines, MV lines and score, the setters' count (par) and the best one known (top)."""
    rows = [row for name, folder in _SETS.items() for row in _read(name, traces / folder / "records.json")]
    if json:
        print_json(rows)
        return
    head = ("set", "problem", "PE lines", "MV lines", "score", "par", "top", "remark")
    cells = [
        tuple(row[key] for key in ("set", "problem", "pe_lines", "mv_lines", "score", "par", "top", "remark"))
        for row in rows
    ]
    print_table("Own programs: lines", head, cells)


def _read(name: str, path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise UsageError(f"there is no {path}: name the traces folder of a checkout with --traces")
    return [
        {
            "set": name,
            "problem": row["problem"],
            "pe_lines": row["j"],
            "mv_lines": row["m"],
            "score": row["score"],
            "par": row["par"],
            "top": row["top"],
            "remark": row.get("assumed") or row.get("own_statement") or "",
        }
        for row in json_format.loads(path.read_text(encoding="utf-8"))
    ]
