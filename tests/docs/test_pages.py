"""Every output that README and docs show is what the command above it prints today (tests/docs/blocks.py says how)."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.docs.blocks import DEBUGGER, Block, agrees, blocks
from tests.docs.elide import elided
from tests.docs.markdown import ROOT, pages
from tests.docs.session import renewed

SLOW = frozenset({"README.md", "docs/first_model.md", "docs/l3ir.md", "docs/porting.md"})
"""Pages that compile models for more than a few seconds."""

HELD_ELSEWHERE = {
    ("docs/options.md", "json"): "the form of a file; tests/options",
    ("docs/tools.md", "python"): "tests/cli/test_tools_page.py",
    ("docs/tools.md", "text"): "tests/cli/test_tools_page.py",
    ("docs/writing_a_layer.md", "python"): "tests/compiler/test_layer_guide.py",
}
"""Blocks that a test of their own runs: page and language, and where."""


def _texts() -> dict[str, str]:
    return {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages()}


def _cases() -> list[object]:
    names = [name for name, text in _texts().items() if any(block.runs for block in blocks(text))]
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in names]


@pytest.mark.parametrize("name", _cases())
def test_outputs_are_todays(name: str, tmp_path: Path) -> None:
    shown = (ROOT / name).read_text(encoding="utf-8")
    today = renewed(shown, tmp_path)
    difference = "".join(difflib.unified_diff(shown.splitlines(True), today.splitlines(True), "shown", "today", n=1))
    assert not difference, f"look at it, then run: python -m tests.docs.refresh {name}\n{difference}"


@pytest.mark.parametrize("name", _texts())
def test_every_block_is_run_or_held(name: str) -> None:
    """A block that shows an output and that nothing compares would rot; plain blocks (no language) show none."""

    found = list(blocks(_texts()[name]))
    debugged = any(block.body.startswith(DEBUGGER) for block in found)

    def held(block: Block) -> bool:
        if block.language == "vsm" and debugged:
            return True
        return bool(block.runs or block.title or not block.language) or (name, block.language) in HELD_ELSEWHERE

    loose = [block for block in found if not held(block)]
    assert [f"{name}:{block.line}: {block.language}: {block.first}" for block in loose] == []


def test_the_table_of_exceptions_is_needed() -> None:
    texts = _texts()
    for name, language in HELD_ELSEWHERE:
        found = [block for block in blocks(texts[name]) if block.language == language]
        assert any(not (block.runs or block.title) for block in found), (name, language)


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        ("a\nb\n", "a\nb", True),
        ("a\nb\n", "a\nc", False),
        ("took ... s, done", "took 1.5 s, done", True),
        ("took ... s", "took 1\n2 s", False),
        ("a\n...\nb", "a\nx\ny\nb", True),
        ("a\n...", "a\nx\ny", True),
        ("a\n...\nb", "a\nx", False),
        ("(1.5, 2)*", "(1.5, 2)*", True),
        ("", "a", False),
    ],
)
def test_dots_stand_for_anything(shown: str, printed: str, fits: bool) -> None:
    assert agrees(shown, printed) is fits


def test_what_was_left_out_stays_left_out() -> None:
    shown = "a table\n...\n head   10 20 ...\n ────────...\n row    11 22 ...\n...\nall 33\n"
    printed = "a table\n\nother\n head   9 2000 300\n ────────────────\n row    1000 2 333\n more\n\nall 7\nend\n"
    expected = "a table\n...\n head   9 2000 ...\n ────────...\n row    1000 2 ...\n...\nall 7\n"
    assert elided(shown, printed) == expected
    assert elided("nothing\n...\nof this\n", printed) == printed
    assert elided("a\n", printed) == printed


def test_a_page_is_run_in_order(tmp_path: Path) -> None:
    page = '''\
```python title="add.py"
import sys
print(sum(map(int, sys.argv[1:])))
sys.exit("that is all")
```

```console
$ python add.py 2 3        # a comment
4
$ python add.py 7 > seven.txt
$ head -n 1 seven.txt
7
```

```python
>>> a = 1
>>> for i in range(2):
...     print(a + i)
1
3
>>> {}["x"]
Traceback (most recent call last):
KeyError: 'y'
```

<!-- $ head -n 1 add.py -->
old
<!-- end -->
'''
    expected = page.replace("\n4\n", "\n5\nthat is all\n").replace("\n3\n", "\n2\n").replace("'y'", "'x'")
    assert renewed(page, tmp_path) == expected.replace("old\n", "\nimport sys\n\n")
