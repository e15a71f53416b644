"""docs/studies.md shows what the commands print; its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from runtime.studies.document import renewed

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"


def test_tables_are_what_the_studies_find() -> None:
    text = PAGE.read_text()
    assert text.count("<!-- mncore2 sweep") == 3
    fresh = renewed(text, PAGE.parent)
    assert text == fresh, "out of date; run: python -m runtime.studies.document docs/studies.md"


def test_links() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE.read_text()):
        assert (PAGE.parent / target).exists(), target


def test_every_verb_is_on_the_page() -> None:
    from runtime.cli.application import app

    verbs = {command.name for command in app.registered_commands}
    section = PAGE.read_text().split("## The command")[1]
    assert all(
        f"`{verb}" in section or f"mncore2 {verb}" in section or f"{verb} FILE" in section for verb in verbs if verb
    )
