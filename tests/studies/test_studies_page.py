"""docs/studies.md shows what the commands print, as do the tables of other pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.studies.document import renewed

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"


@pytest.mark.parametrize(("name", "tables"), [("studies.md", 3), ("cycles.md", 1)])
def test_tables_are_what_the_studies_find(name: str, tables: int) -> None:
    text = PAGE.with_name(name).read_text()
    assert text.count("<!-- mncore2 sweep") == tables
    fresh = renewed(text, PAGE.parent)
    assert text == fresh, f"out of date; run: python -m runtime.studies.document docs/{name}"


def test_every_verb_is_on_the_page() -> None:
    from runtime.cli.application import app

    verbs = {command.name for command in app.registered_commands}
    section = PAGE.read_text().split("## The command")[1]
    assert all(
        f"`{verb}" in section or f"mncore2 {verb}" in section or f"{verb} FILE" in section for verb in verbs if verb
    )
