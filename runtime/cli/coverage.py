"""`mncore2 coverage`: which instructions, precisions and operand classes the committed programs exercise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import UsageError
from runtime.cli.output import print_json, print_table

_TRACES = Path(__file__).parents[2] / "traces"
_SHOWN = 6  # names of missing classes in a row of the table


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("coverage")(coverage)


def coverage(
    traces: Annotated[
        Path, typer.Option("--traces", metavar="FOLDER", help="The folder of recorded programs.")
    ] = _TRACES,
    json: Json = False,
) -> None:
    """Table of instruction × precision × operand class: what the programs with checked values use."""
    if not (traces / "oracle").is_dir():
        raise UsageError(f"{traces} has no folder `oracle`: name the traces folder of a checkout with --traces")
    from isa.coverage import Coverage
    from isa.vectors import recorded_texts

    counted = Coverage()
    for text, mode in recorded_texts(traces):
        counted.add_text(text, mode=mode)
    rows = counted.rows()
    used = {row.record for row in rows if row.uses}
    summary = {
        "programs": counted.programs,
        "records": len({row.record for row in rows}),
        "records_covered": len(used),
        "spellings": sum(len(row.spellings) for row in rows),
        "spellings_covered": sum(count > 0 for row in rows for count in row.spellings.values()),
        "classes": sum(len(row.classes) for row in rows),
        "classes_covered": sum(count > 0 for row in rows for count in row.classes.values()),
    }
    if json:
        print_json({**summary, "table": [_as_data(row) for row in rows]})
        return
    title = ", ".join(
        f"{summary[f'{name}_covered']} of {summary[name]} {name}" for name in ("records", "spellings", "classes")
    )
    head = ("instruction", "precision", "spellings", "uses", "operand classes", "not used")
    print_table(f"{counted.programs} programs: {title}", head, [_as_cells(row) for row in rows])


def _as_data(row: Any) -> dict[str, Any]:
    return {
        "instruction": row.record,
        "unit": row.group,
        "precision": row.precision,
        "uses": row.uses,
        "spellings": dict(row.spellings),
        "classes": dict(row.classes),
    }


def _as_cells(row: Any) -> tuple[object, ...]:
    missing = [name for name, count in row.classes.items() if not count]
    shown = " ".join(missing[:_SHOWN]) + (f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else "")
    spelt = sum(count > 0 for count in row.spellings.values())
    classes = f"{len(row.classes) - len(missing)} of {len(row.classes)}"
    return row.record, row.precision, f"{spelt} of {len(row.spellings)}", row.uses, classes, shown
