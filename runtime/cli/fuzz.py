"""`mncore2 fuzz`: random programs over all instructions, run by two implementations; the first difference, shrunk."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import CommandError, UsageError
from runtime.cli.output import print_json, progress, say

if TYPE_CHECKING:
    from isa.fuzz import FuzzProgram, Tools


class Against(StrEnum):
    """What our engine is compared with."""

    official = "official"
    self = "self"


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("fuzz")(fuzz)


def fuzz(
    against: Annotated[
        Against,
        typer.Option(
            help="official: the tools that MNCORE2_OFFICIAL_ASSEMBLER and MNCORE2_OFFICIAL_EMULATOR name; "
            "self: our engine with one thread against two."
        ),
    ],
    seed: Annotated[int, typer.Option("--seed", help="Seed of the first program; the next ones count up.")] = 0,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of programs.")] = 20,
    items: Annotated[int, typer.Option("--items", min=1, help="Instructions in a program.")] = 12,
    json: Json = False,
) -> None:
    """Compare the dumps of random legal programs; stops at the first difference with exit code 1."""
    from isa.fuzz import compare, random_program

    ours, theirs = _pair(against)
    with progress() as bar:
        for number in bar.track(range(seed, seed + count), description="fuzz"):
            program = random_program(number, items)
            if compare(program, ours, theirs) is not None:
                _report(program, number - seed, ours, theirs, json=json)
    if json:
        print_json({"against": against.value, "seed": seed, "programs": count, "difference": None})
    else:
        say(f"{count} programs from seed {seed} on: equal")


def _pair(against: Against) -> tuple[Tools, Tools]:
    from isa.fuzz import OfficialTools, OwnTools, ToolsMissing

    if against is Against.self:
        return OwnTools(threads=1), OwnTools(threads=2)
    try:
        return OwnTools(), OfficialTools.find()
    except ToolsMissing as error:
        raise UsageError(str(error)) from error


def _report(program: FuzzProgram, done: int, ours: Tools, theirs: Tools, *, json: bool) -> None:
    """Shrink, print, and end the command."""
    from isa.fuzz import compare, shrink

    small = shrink(program, ours, theirs)
    found = compare(small, ours, theirs)
    assert found is not None, "shrinking keeps a difference"
    if json:
        difference = {"line": found.line, "ours": found.ours, "theirs": found.theirs, "program": small.text}
        print_json({"seed": program.seed, "programs": done + 1, "difference": difference})
    else:
        typer.echo(small.text, nl=False)
    raise CommandError(
        f"seed {program.seed}: dump line {found.line} differs\n  ours:   {found.ours}\n  theirs: {found.theirs}"
    )
