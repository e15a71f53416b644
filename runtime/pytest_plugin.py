"""Fixtures for tests of VSM programs: `board`, `assembler`, `check_program`, `judge` (docs/tools.md).

Nothing of the simulator is imported before a test asks for it.  Every fixture makes new objects, so tests can run in
any order and in the workers of pytest-xdist, which get one thread each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hw.program import Program
    from hw.state import Board
    from isa.commands.judge import Verdict

_MARKER = "board(offchip='zero', pattern=None, seed=None): what the memories of `board` hold before the test"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; a worker does not use the cores of the others."""
    config.addinivalue_line("markers", _MARKER)
    if os.environ.get("PYTEST_XDIST_WORKER"):
        os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def board(request: pytest.FixtureRequest) -> Board:
    """A fresh board: zeros, or what the marker `board` says."""
    from hw.state import Board
    from hw.state.fill import Fill, fill_board

    marker = request.node.get_closest_marker("board")
    wishes = dict(marker.kwargs) if marker is not None else {}
    made = Board(offchip=wishes.pop("offchip", "zero"))
    if wishes:
        fill_board(made, Fill(**wishes))
    return made


@pytest.fixture
def assembler() -> Callable[..., Program]:
    """`isa.assemble.assemble`: text, or the path of a file, to a program."""
    from isa.assemble import assemble

    def run(source: str | Path, **options: Any) -> Program:
        return assemble(_text(source), **options)

    return run


@pytest.fixture
def check_program() -> Callable[..., list[str]]:
    """`runtime.program_check.check_program`; a difference fails the test with line, PE and bits."""
    from runtime.program_check import Divergence
    from runtime.program_check import check_program as check

    def run(program: Program | str, expected: Mapping[str, ArrayLike], **options: Any) -> list[str]:
        difference = ""
        try:
            return check(program, expected, **options)
        except Divergence as error:
            difference = str(error)
        pytest.fail(difference, pytrace=False)

    return run


@pytest.fixture
def judge() -> Callable[..., Verdict]:
    """Judge a solution (text or path) on a contest test case (text or path); the test fails unless it is accepted."""
    from isa.commands.judge import judge as run_judge

    def run(testcase: str | Path, solution: str | Path, **options: bool) -> Verdict:
        verdict = run_judge(_text(testcase), _text(solution), **options)
        if not verdict.accepted:
            reason = "a solution may not use `d set`" if verdict.used_set else f"{verdict.correct} values agree"
            pytest.fail("\n".join(["not accepted: " + reason, *verdict.mismatches]), pytrace=False)
        return verdict

    return run


def _text(source: str | Path) -> str:
    return source.read_text(encoding="utf-8") if isinstance(source, Path) else source
