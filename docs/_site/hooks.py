"""What the site does beyond MkDocs: it takes in the README, and colours VSM programs.

The pages are written for GitHub and for any Markdown viewer: `../README.md` and `docs/page.md` are links that work
there, so they are rewritten for the site here and nowhere else.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments import lexers
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

ROOT = Path(__file__).parents[2]
WIDE = ("index.md", "chip.md", "options.md", "compatibility.md", "records.md")


class VsmLexer(RegexLexer):
    """Assembly of the chip: `imm f"1.5" $lr0; nop # comment`."""

    name = "VSM"
    aliases = ("vsm",)
    tokens = {  # noqa: RUF012 - the form that pygments wants
        "root": [
            (r"#.*$", Comment.Single),
            (r"\s+", Text),
            (r'[a-z]*"[^"]*"', String),
            (r"\$[\w\[\],.@]+(?<![,@])", Name.Variable),
            (r"(\bd\b)(\s+)(get\w*|set\w*)", bygroups(Keyword, Text, Keyword)),
            (r"\b[a-z]\w*", Keyword),
            (r"@|/|;|-|\[|\]|,|\.", Operator),
            (r"0x[0-9a-fA-F]+|\d+", Number),
            (r".", Text),
        ]
    }


def on_startup(**_: Any) -> None:
    """Make the lexer known to the highlighter, which asks pygments for lexers by name."""
    find = lexers.get_lexer_by_name

    def with_vsm(alias: str, **options: Any) -> Any:
        return VsmLexer(**options) if alias == "vsm" else find(alias, **options)

    import pymdownx.highlight

    pymdownx.highlight.get_lexer_by_name = with_vsm


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add README.md and LICENSE, which stand outside of docs/."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "readme.md", content=re.sub(r"\]\(docs/", "](", readme)))
    files.append(File.generated(config, "LICENSE", abs_src_path=str(ROOT / "LICENSE")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to the README lead to its page; pages of wide tables or pictures get the width of the contents."""
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["toc"]
    return re.sub(r"\]\(\.\./README\.md", "](readme.md", markdown)
