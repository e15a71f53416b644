"""What verbs print: tables for people, JSON for programs, progress and warnings on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

_PIPE_WIDTH = 1000  # what goes to a file or a pipe is not folded: one row, one line


def console(*, stderr: bool = False) -> Console:
    """A console on standard output or error, made anew so that redirection is seen."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def print_json(data: object) -> None:
    """Data as indented JSON on standard output."""
    sys.stdout.write(json.dumps(data, indent=2, default=str) + "\n")


def print_table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[object]], total: Sequence[object] = ()
) -> None:
    """A table on standard output; numbers are right-aligned, `total` is a last row set apart."""
    cells = [list(row) for row in rows]
    table = Table(show_footer=bool(total), box=SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(head):
        column = [row[index] for row in cells]
        numeric = bool(column) and all(is_number(cell) or cell is None for cell in column)
        footer = cell_text(total[index]) if total else ""
        table.add_column(Text(name), Text(footer), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell_text(cell)) for cell in row))
    screen = console()
    if title:
        screen.print(Text(title, style="bold"), soft_wrap=True)
    screen.print(table)


def is_number(value: object) -> bool:
    """A number, not a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def cell_text(value: Any) -> str:
    """A cell: whole numbers with separators, others with five digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{int(value):,}" if value.is_integer() and abs(value) < 1e15 else f"{value:,.5g}"
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, default=str)
    return str(value)


def say(text: str) -> None:
    """A line for people on standard error."""
    console(stderr=True).print(Text(text), soft_wrap=True)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner on standard error while something of unknown length runs; nothing where no terminal looks on."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(text):
        yield


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress bar on standard error (add one task); silent where no terminal looks on."""
    screen = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as bar:
        yield bar
