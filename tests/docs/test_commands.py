"""Commands that pages name without running them exist: verbs and options of `mncore2`, modules behind `python -m`."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest
import typer

from runtime.cli.application import app
from tests.docs.markdown import ROOT, pages

NAMES = [str(page.relative_to(ROOT)) for page in pages()]
GROUP = typer.main.get_command(app)


def commands(text: str, start: str) -> list[str]:
    """What follows `start` in code, up to a comment, the end of the line or of the code span."""
    return re.findall(rf"(?:^|[`$ ]){re.escape(start)} ([^#`\n]*)", text, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_verbs_and_options_exist(name: str) -> None:
    verbs = GROUP.commands  # type: ignore[attr-defined]
    for rest in commands((ROOT / name).read_text(encoding="utf-8"), "mncore2"):
        verb = re.match(r"[a-z][a-z-]*", rest)
        if verb is None:
            continue  # an option of the command itself
        assert verb[0] in verbs, rest
        known = {"--help", *(name for p in verbs[verb[0]].params for name in (*p.opts, *p.secondary_opts))}
        assert set(re.findall(r"(?<!\S)--[a-z][\w-]*", rest)) <= known, rest


@pytest.mark.parametrize("name", NAMES)
def test_modules_exist(name: str) -> None:
    for rest in commands((ROOT / name).read_text(encoding="utf-8"), "python -m"):
        module = re.match(r"[\w.]+", rest)
        assert module and find_spec(module[0]), rest


def test_the_check_sees_commands() -> None:
    text = "`mncore2 run a.vsm --set x=1` and\n    mncore2 sweep b --out c   # --not\n$ mncore2 config\n"
    assert [rest.strip() for rest in commands(text, "mncore2")] == ["run a.vsm --set x=1", "sweep b --out c", "config"]
