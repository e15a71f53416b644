"""`mncore2 explain`: what a code in a message means, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import UsageError
from runtime.cli.output import print_json, print_table

if TYPE_CHECKING:
    from isa.codes import Code


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("explain")(explain)


def _known(incomplete: str) -> list[str]:
    from isa.codes import codes

    return [name for name in codes() if name.startswith(incomplete)]


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="As in `[port/read]`; without one, all are listed.", autocompletion=_known),
    ] = None,
    json: Json = False,
) -> None:
    """Explain a code of the assembler or the sanitizers: the rule, an example, and what to do."""
    from isa.codes import UnknownCode, code_named, codes

    if code is None:
        rows = [_plain(entry) for entry in codes().values()]
        if json:
            print_json(rows)
        else:
            cells = [[row[key] for key in ("code", "found", "meaning")] for row in rows]
            print_table("", ("code", "found by", "meaning"), cells)
        return
    try:
        entry = code_named(code)
    except UnknownCode as error:
        raise UsageError(str(error)) from error
    if json:
        print_json({**_plain(entry), "message": entry.message()})
    else:
        print(_text(entry), end="")


def _plain(entry: Code) -> dict[str, Any]:
    found = "the assembler" if entry.found == "assembler" else "a sanitizer, while the program runs"
    example = {"wrong": entry.wrong, "right": entry.right}
    return {"code": entry.name, "found": found, "meaning": entry.meaning, **example}


def _text(entry: Code) -> str:
    row = _plain(entry)
    parts = [
        f"{entry.name}, found by {row['found']}: {entry.meaning}",
        "",
        "wrong:",
        *(f"    {line}" for line in entry.wrong.splitlines()),
        "",
        "what is said about it:",
        *(f"    {line}" for line in entry.message().splitlines()),
        "",
        "right:",
        *(f"    {line}" for line in entry.right.splitlines()),
    ]
    return "\n".join(parts) + "\n"
