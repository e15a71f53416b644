"""docs/operators.md lists what the compiler takes."""

from __future__ import annotations

from pathlib import Path

from compiler.operators import page


def test_the_page_is_up_to_date() -> None:
    assert (Path(__file__).parents[2] / "docs" / "operators.md").read_text() == page()
