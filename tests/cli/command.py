"""Runs `mncore2` inside the test process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.cli import main

FIRST = """\
imm f"1.5" $lr0
imm f"2.0" $ls0
nop/2
fvfma $lr0 $ls0 $lr0 $ln0
d getf $ln0n0c0b0m0 1
"""


@dataclass(frozen=True)
class Result:
    """Exit code and output of one command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output as data."""
        return json.loads(self.out)


def command(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Result:
    """Run; whatever was printed before is dropped, and no command may show a traceback."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return Result(code, out, err)


def ok(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Result:
    """Run a command that must succeed."""
    result = command(capsys, *arguments)
    assert result.code == 0, result.err
    return result


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: str | Path) -> str:
    """Run a command that must fail with this code; its message."""
    result = command(capsys, *arguments)
    assert result.code == code, (result.out, result.err)
    return result.err
