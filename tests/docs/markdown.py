"""What the tests of the pages read off a Markdown text: headings as anchors, links, fenced blocks left out.

Anchors follow GitHub, as the site does (`mkdocs.yml`, toc.slugify): lower case, no punctuation, dashes for spaces, and
`_1` on the site or `-1` on GitHub for a heading that repeats an earlier one. Links to repeated headings are therefore
not allowed: `anchors` leaves them out.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^(```+).*?^\1[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")


def pages() -> list[Path]:
    """README.md and every page of docs/, in order of their names."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def prose(text: str) -> str:
    """The text without fenced blocks."""
    return _FENCE.sub("", text)


def slug(heading: str) -> str:
    """The anchor of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Anchors of a page that a link may name."""
    found = Counter(slug(line) for line in re.findall(r"^#+ +(.+?) *$", prose(text), re.MULTILINE))
    return {name for name, times in found.items() if times == 1}


def links(text: str) -> list[str]:
    """Targets of all links and pictures of a page, without titles."""
    return re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", _CODE.sub("", prose(text)))
