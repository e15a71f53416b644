"""What the README says about its first program and the settings (its outputs: tests/docs)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


PROGRAM = re.findall(r"```vsm[^\n]*\n(.*?)```", README, re.DOTALL)[0]


def test_the_first_program_has_five_lines() -> None:
    assert len(PROGRAM.splitlines()) == 5


def test_first_program_needs_its_distance() -> None:
    from isa.assemble import assemble
    from isa.errors import AsmError

    with pytest.raises(AsmError, match="line 4"):
        assemble(PROGRAM.replace("nop/2", "nop/1"))


def test_settings_exist() -> None:
    root = Path(__file__).parents[2]
    settings = (root / "runtime" / "settings.py").read_text()
    for variable in re.findall(r"`(MNCORE2_\w+)` \|", README):
        assert variable in settings
