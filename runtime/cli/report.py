"""`mncore2 report`: where the cycles of a compiled function went."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import CommandError, UsageError, existing
from runtime.cli.output import print_json, say
from runtime.cli.report_short import print_short
from runtime.cli.report_view import Sum, print_report, sums

REPORT, APP = "report.json", "model.app"


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("report")(report)


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A codegen_dir, its report.json or model.app.")],
    every: Annotated[bool, typer.Option("--all", help="Every section of the report, in full width.")] = False,
    top: Annotated[
        int | None, typer.Option("--top", min=1, metavar="N", help="Only the N slowest layers, the slowest first.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the report of a compilation, and check that layers and causes add up to the cycles."""
    if every and top is not None:
        raise UsageError("--top shortens the table of layers; --all shows everything: give one of them")
    content = read_report(existing(folder, "folder"))
    if not isinstance(content.get("vsm_cycles"), int):
        raise CommandError(f"{folder} holds no report of a program for the chip: it names no vsm_cycles")
    checks = sums(content)
    if json:
        print_json({**content, "adds_up": all(check.holds for check in checks), "sums": [_plain(c) for c in checks]})
    elif every:
        print_report(content)
    else:
        print_short(content, top)
    wrong = [check for check in checks if not check.holds]
    if wrong:
        raise CommandError(
            "the report does not add up: " + "; ".join(f"{c.section} {c.cycles}, expected {c.expected}" for c in wrong)
        )
    if not json and checks:
        names = dict.fromkeys(check.section.split("[")[0] for check in checks)
        more = "" if every else "; --all shows units, bytes, roofline and causes of each layer"
        say(f"{', '.join(names)} add up to {content['vsm_cycles']:,} cycles{more}")


def read_report(path: Path) -> dict[str, Any]:
    """The content of report.json of a folder, of the file itself or inside `model.app`; CommandError without one."""
    if path.is_dir():
        found = [path / name for name in (REPORT, APP) if (path / name).is_file()]
        if not found:
            raise CommandError(f"{path} holds neither {REPORT} nor {APP}: nothing was compiled there")
        path = found[0]
    if path.suffix == ".app":
        from runtime.app import App

        return dict(App.load(path).report)
    try:
        content = jsonlib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CommandError(f"{path} is no report: {error}") from error
    if not isinstance(content, dict):
        raise CommandError(f"{path} is no report: expected an object")
    return content


def _plain(check: Sum) -> dict[str, Any]:
    return {"section": check.section, "cycles": check.cycles, "expected": check.expected}
