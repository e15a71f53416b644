"""Every link, anchor and picture of README and docs leads somewhere, and every page stands in the site's navigation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import DOCS, ROOT, anchors, links, pages, slug

CONFIGURATION = ROOT / "mkdocs.yml"


def problems(page: Path) -> list[str]:
    """Targets of a page that do not exist, as written, with what is wrong."""
    wrong = []
    for target in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            wrong.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            wrong.append(f"{target}: no such heading, or several")
        elif DOCS in page.parents and DOCS not in file.parents and file != ROOT / "README.md":
            wrong.append(f"{target}: the site holds docs/ and README.md only")
    return wrong


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert problems(page) == []


def test_wrong_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# One\n\n## Two words, `code`\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "a.md"
    page.write_text("[x](b.md#two-words-code) [x](c.md) ![x](no.svg)\n[x](b.md#three) [x](b.md#twice) `[x](d.md)`\n"
                    "```text\n[x](e.md)\n```\n")  # fmt: skip
    assert [message.split(":")[0] for message in problems(page)] == ["c.md", "no.svg", "b.md#three", "b.md#twice"]


def test_anchors_are_githubs() -> None:
    assert slug("Codes: `mv/source`, and more") == "codes-mvsource-and-more"
    assert slug("The command `mncore2`") == "the-command-mncore2"


def test_every_page_is_in_the_navigation() -> None:
    text = CONFIGURATION.read_text(encoding="utf-8")
    named = re.findall(r"(\S+\.md)$", text[text.index("\nnav:") :], re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} | {"readme.md"}


def test_pictures_are_used() -> None:
    shown = {(page.parent / target).resolve() for page in pages() for target in links(page.read_text(encoding="utf-8"))}
    assert {file.resolve() for file in (DOCS / "img").iterdir()} <= shown


def test_the_page_of_l3ir_names_every_operator_of_the_compilers_own() -> None:
    from compiler.layers import registry

    page = (DOCS / "l3ir.md").read_text(encoding="utf-8")
    assert [name for name in registry.layers() if name.startswith("MNCore") and f"`{name}`" not in page] == []
