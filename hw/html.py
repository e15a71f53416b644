"""Small pieces of HTML for notebooks; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A caption and a table."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    caption = f"<caption style='text-align:left'>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def code(text: str) -> str:
    """Text in a fixed-width font, line for line."""
    return f"<pre>{escape(text)}</pre>"


def _text(cell: object) -> str:
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return escape(f"{cell:.5g}" if isinstance(cell, float) else str(cell))
