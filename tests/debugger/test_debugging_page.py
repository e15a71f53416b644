"""docs/debugging.md shows what really happens: its session and its Python examples are run and compared."""

from __future__ import annotations

import doctest
import io
import re
from pathlib import Path

from isa.debugger import Debugger
from isa.debugger.shell import Shell

PAGE = Path(__file__).parents[2] / "docs" / "debugging.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_session() -> None:
    (program,) = blocks("vsm")
    out = io.StringIO()
    shell = Shell(Debugger(program), io.StringIO(), out)
    shown = blocks("console")
    assert len(shown) >= 3
    for block in shown:
        out.seek(0)
        out.truncate()
        for line in block.splitlines():
            if line.startswith("(vsm) "):
                print(line, file=out)
                shell.onecmd(line.removeprefix("(vsm) "))
        assert out.getvalue() == block


def test_the_examples() -> None:
    (program,) = blocks("vsm")
    text = "\n".join(blocks("python"))
    test = doctest.DocTestParser().get_doctest(text, {"page_program": lambda: program}, "debugging.md", str(PAGE), 0)
    report = io.StringIO()
    result = doctest.DocTestRunner().run(test, out=report.write)
    assert result.failed == 0, report.getvalue()
    assert result.attempted > 10
