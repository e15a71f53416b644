"""docs/tools.md shows what really happens: its commands are run and their output is compared."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from runtime.cli import main as mncore2
from runtime.program_check import Divergence, check_program
from runtime.smi import main as gpfn3_smi

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"mncore2": mncore2, "gpfn3-smi": gpfn3_smi}
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=[block.split("\n")[0] for block in BLOCKS])
def test_commands_print_what_the_page_shows(
    block: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MNCORE2_BOARDS", raising=False)
    for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, expected = shown.partition("\n")
        name, *arguments = shlex.split(line)
        capsys.readouterr()
        COMMANDS[name](arguments)
        out, err = capsys.readouterr()
        assert out + err == expected, line


def test_the_suite_and_the_failure_are_real() -> None:
    (suite,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
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
