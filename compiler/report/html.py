"""Self-contained pages with a table that can be filtered: no scripts or styles from elsewhere, all values escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
body{font:14px/1.4 system-ui,sans-serif;margin:1.5rem;color:#222;background:#fff}
table{border-collapse:collapse}
th,td{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
th{position:sticky;top:0;background:#f4f4f4}td.code{font-family:ui-monospace,monospace;white-space:nowrap}
input{margin:.5rem 0;padding:.3rem;width:30rem;max-width:100%}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}th{background:#242424}th,td{border-color:#383838}}
"""
_SCRIPT = """
const box=document.querySelector('input');
box.addEventListener('input',()=>{for(const row of document.querySelectorAll('tbody tr'))
row.hidden=!row.textContent.toLowerCase().includes(box.value.toLowerCase())});
"""


def table_page(
    title: str, text: str, head: Sequence[str], rows: Iterable[Sequence[object]], code: Iterable[int] = ()
) -> str:
    """A page with one table.  code: columns in a fixed-width font."""
    fixed = set(code)
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p>",
        '<input type="search" placeholder="show rows with" aria-label="show rows with">',
        f"<table><thead><tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr></thead><tbody>",
    ]
    for row in rows:
        cells = (_cell(cell, column in fixed) for column, cell in enumerate(row))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    lines.append(f"</tbody></table><script>{_SCRIPT}</script></body></html>")
    return "\n".join(lines) + "\n"


def _cell(value: object, code: bool) -> str:
    text = "" if value is None else str(value)
    return f"<td{' class=code' if code else ''}>{escape(text)}</td>"
