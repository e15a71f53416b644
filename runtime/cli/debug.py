"""`mncore2 debug`: the debugger of `python -m isa.debugger` as a verb (docs/debugging.md)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from runtime.cli.errors import existing


class Check(StrEnum):
    """What the sanitizers do."""

    OFF = "off"
    WARN = "warn"
    STRICT = "strict"


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("debug")(debug)


def debug(
    file: Annotated[Path, typer.Argument(metavar="FILE.vsm", help="Program text.")],
    check: Annotated[Check, typer.Option("--check", help="Run the sanitizers.")] = Check.OFF,
    hazards: Annotated[
        bool, typer.Option("--hazards/--no-hazards", help="Refuse programs that break hazard distances.")
    ] = True,
) -> None:
    """Step through a program in lock-step with the time model; commands come from the terminal or a pipe."""
    from isa.debugger.__main__ import main

    code = main([str(existing(file, "file")), "--check", check.value, *([] if hazards else ["--no-hazards"])])
    if code:
        raise typer.Exit(code)
