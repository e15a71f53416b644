"""The README's first program does what the README says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


def block(language: str) -> str:
    """The only code block of that language."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return text


def test_first_program_prints_what_is_shown() -> None:
    from hw.engine import execute
    from hw.state import Board
    from isa.assemble import assemble
    from isa.dump import debug_handler

    lines: list[str] = []
    execute(assemble(block("vsm")), Board(), on_debug=debug_handler(lines))
    assert "".join(line.rstrip("\n") + "\n" for line in lines) == block("text")
    assert len(block("vsm").splitlines()) == 5


def test_first_program_needs_its_distance() -> None:
    from isa.assemble import assemble
    from isa.errors import AsmError

    with pytest.raises(AsmError, match="line 4"):
        assemble(block("vsm").replace("nop/2", "nop/1"))


def test_links_and_settings_exist() -> None:
    root = Path(__file__).parents[2]
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (root / target).exists(), target
    settings = (root / "runtime" / "settings.py").read_text()
    for variable in re.findall(r"`(MNCORE2_\w+)` \|", README):
        assert variable in settings
