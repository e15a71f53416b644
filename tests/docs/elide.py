"""Keeping what a page leaves out when the rest of an output changes.

A shown output consists of parts between lines that are only `...`. For each part the most similar run of as many lines
of the new output is taken, in order; numbers do not count as differences. A line that ended in `...` is cut there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_LEAST = 0.6


def _masked(line: str) -> str:
    return re.sub(r"[\d.,]+", "0", re.sub(r" +|─+", " ", line)).strip()


def _likeness(part: Sequence[str], window: Sequence[str]) -> float:
    pairs = [(_masked(a.removesuffix("...")), _masked(b)) for a, b in zip(part, window, strict=True)]
    return sum(SequenceMatcher(None, a, b[: len(a) + 8], autojunk=False).ratio() for a, b in pairs) / len(part)


def _cut(shown: str, line: str) -> str:
    if shown.endswith("...") and len(line) > len(shown):
        return line[: len(shown) - 3].rstrip() + (" ..." if " ..." in shown else "...")
    return line


def elided(shown: str, printed: str) -> str:
    """The new output with the parts that the old one showed; all of it when it left nothing out or nothing fits."""
    if "..." not in shown:
        return printed
    lines = printed.rstrip("\n").split("\n")
    result: list[str] = []
    position = 0
    for number, piece in enumerate(re.split(r"^(\.\.\.)$", shown.removesuffix("\n"), flags=re.MULTILINE)):
        part = piece.removeprefix("\n" * (number > 0)).removesuffix("\n").split("\n")
        if piece.strip() in ("", "..."):
            result += part if piece.strip() else []
            continue
        windows = range(position, len(lines) - len(part) + 1)
        best = max(windows, key=lambda at: _likeness(part, lines[at : at + len(part)]), default=None)
        if best is None or _likeness(part, lines[best : best + len(part)]) < _LEAST:
            return printed
        result += [_cut(old, new) for old, new in zip(part, lines[best : best + len(part)], strict=True)]
        position = best + len(part)
    return "\n".join(result) + "\n"
