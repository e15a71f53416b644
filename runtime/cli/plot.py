"""`mncore2 plot`: pictures of a compilation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import existing
from runtime.cli.output import print_json
from runtime.cli.report import read_report

TRACE = "trace.json"


class Kind(StrEnum):
    """The pictures of `runtime.report_plots`."""

    ROOFLINE = "roofline"
    LAYERS = "layers"
    UTILISATION = "utilisation"


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("plot")(plot)


def plot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A codegen_dir.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder of the pictures; default DIR/plots.")
    ] = None,
    only: Annotated[list[Kind] | None, typer.Option("--only", help="This picture; may be repeated.")] = None,
    json: Json = False,
) -> None:
    """Draw roofline, cycles per layer and utilisation over time as PNG and SVG (extra `plots`)."""
    from runtime.report_plots import write_plot
    from runtime.timeline import read_timeline

    report = read_report(existing(folder, "folder"))
    kinds = list(dict.fromkeys(only or list(Kind)))
    timeline = None
    if Kind.UTILISATION in kinds:
        timeline = read_timeline(existing(folder / TRACE, "trace").read_bytes())
    target = out or folder / "plots"
    files = [str(path) for kind in kinds for path in write_plot(kind.value, report, timeline, target)]
    if json:
        print_json({"files": files})
    else:
        for name in files:
            print(name)
