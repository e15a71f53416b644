"""`mncore2 records`: our line counts for the problems of the MN-Core Challenge beside the published ones.

Two counts of our own stand in a row: that of a program written by hand, and that of what the compiler's layers emit for
the stated layouts.
"""

from __future__ import annotations

import difflib
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
    layers: Annotated[bool, typer.Option("--layers", help="Also run the layers' own code (about a minute).")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="PROBLEM", help="This problem; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Problem, lines of our program and of our layers, the setters' count (par) and the best one known (top)."""
    rows = [row for name, folder in _SETS.items() for row in _read(name, traces / folder / "records.json")]
    if only:
        rows = _chosen(rows, only)
    measured = _measured({row["problem"] for row in rows}) if layers or only else {}
    for row in rows:
        row.update(measured.get(row["problem"], {}))
    if json:
        print_json(rows)
        return
    keys = ("set", "problem", "pe_lines", "mv_lines", "score", *(_LAYER_KEYS if measured else ()), "par", "top")
    head = [_HEADS.get(key, key) for key in keys]
    cells = [tuple(row.get(key, "-") for key in (*keys, "remark")) for row in rows]
    print_table("Own programs: lines", (*head, "remark"), cells)


_LAYER_KEYS = ("layer_pe_lines", "layer_mv_lines", "layer_lines")
_HEADS = {
    "pe_lines": "PE lines",
    "mv_lines": "MV lines",
    "layer_pe_lines": "layers: PE",
    "layer_mv_lines": "layers: MV",
    "layer_lines": "by layer",
}


def _chosen(rows: list[dict[str, Any]], only: list[str]) -> list[dict[str, Any]]:
    known = {row["problem"] for row in rows}
    for name in only:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"--only {name!r}: no such problem{hint}")
    return [row for row in rows if row["problem"] in only]


def _measured(names: set[str]) -> dict[str, dict[str, Any]]:
    """What the layers need for the problems that are stated for them; `layer_refused` where they cannot do one."""
    from compiler.records.problems import PROBLEMS
    from compiler.records.runner import measure

    found: dict[str, dict[str, Any]] = {}
    for problem in PROBLEMS:
        if problem.name not in names:
            continue
        result = measure(problem)
        if result.refused:
            found[problem.name] = {"layer_refused": result.refused, "layer_lines": "refused"}
            continue
        found[problem.name] = {
            "layer_pe_lines": result.pe_lines,
            "layer_mv_lines": result.mv_lines,
            "layers": [{"layer": layer, "pe_lines": lines} for layer, lines in result.layers],
            "layer_lines": ", ".join(f"{layer} {lines}" for layer, lines in result.layers),
            "layer_assumed": problem.assumed,
        }
    return found


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
