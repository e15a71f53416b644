"""docs/tools.md: its suite and its failure are real, and it names every verb (its commands: tests/docs)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runtime.program_check import Divergence, check_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")


def test_the_suite_and_the_failure_are_real() -> None:
    (suite,) = re.findall(r"```python\n(?!>>>)(.*?)```", PAGE, re.DOTALL)
    assert suite in (ROOT / "docs" / "examples" / "test_vsm.py").read_text(encoding="utf-8")
    (failure,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    program = 'imm f"1.5" $r0v\nnop/2\nlpassa $lr0v $ln0v'
    with pytest.raises(Divergence) as caught:
        check_program(program, {"$ln0n0c0b0m0p1": [1.5, 1.25]}, dtype="f", count=1)
    assert str(caught.value) + "\n" == failure


def test_the_page_names_every_verb_and_page() -> None:
    import typer

    from runtime.cli.application import app

    for verb in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
        assert f"`{verb}`" in PAGE, verb
    pytest.importorskip("starlette", reason="needs the extra dashboard")
    from runtime.dashboard.render import NAVIGATION

    for name in NAVIGATION.values():
        assert name in PAGE
