"""`mncore2 sweep`: a parameter study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import CommandError, existing
from runtime.cli.output import print_json, print_table, progress, say


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("sweep")(sweep)


def sweep(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Programs and chips (docs/studies.md).")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of results; what is there is reused.")
    ],
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes (default: one per core).")] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Use the Dask cluster with this scheduler.")
    ] = None,
    plots: Annotated[
        bool | None, typer.Option("--plots/--no-plots", help="Draw plots (default: if matplotlib is installed).")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    json: Json = False,
) -> None:
    """Simulate programs on many chips, in parallel; an interrupted study goes on where it was."""
    from runtime.figures import available
    from runtime.studies import summary
    from runtime.studies.plots import write_plots
    from runtime.studies.pools import DaskPool, LocalPool
    from runtime.studies.run import run_study
    from runtime.studies.study import read_study

    study = read_study(existing(study_file, "study"))
    pool = DaskPool(scheduler) if scheduler else LocalPool(workers)
    with progress() as bar:
        task = bar.add_task(study.name, total=None)
        try:
            result = run_study(
                study, out, pool=pool, on_progress=lambda done, total: bar.update(task, completed=done, total=total)
            )
        except KeyboardInterrupt:
            say(f"stopped; the same command goes on with what {out} holds")
            raise
    draw = available() if plots is None else plots
    pictures = write_plots(result.rows, study.varied, out) if draw else []
    if json:
        counts = {"reused": result.reused, "simulated": result.simulated, "failed": len(result.failed)}
        files = [str(path) for path in (*result.files, *pictures)]
        print_json({"study": study.name, **counts, "files": files, "rows": result.rows})
    else:
        if markdown:
            print(summary.markdown(result.rows), end="")
        else:
            print_table(study.name, summary.HEAD, summary.summary(result.rows))
        tables = ", ".join(str(path) for path in result.files)
        say(f"{result.simulated} simulated, {result.reused} taken from {out}; tables: {tables}")
        if pictures:
            say(f"{len(pictures)} plots in {pictures[0].parent}")
    if result.failed:
        first = result.failed[0]
        raise CommandError(
            f"{len(result.failed)} of {len(result.rows)} points failed, the first: "
            f"{first['program']} on {first['chip']}: {first['error']}"
        )
