"""Fenced blocks of a page, and how an output that is shown is compared with one that was printed.

How a page says what is to be done with a block (all of it is invisible or natural to a reader):

* a language followed by `title="name"`: the block is a file of that name in the page's folder;
* `console`: lines that begin with `$ ` are commands, those that begin with `(vsm) ` go to the debugger, which has the
  page's last `vsm` block loaded; what follows is what they print;
* `python` with `>>>`: examples in the form of doctest;
* a comment `<!-- $ command -->`: what the command prints stands between it and `<!-- end -->`.

In an output, `...` stands for any text (with the spaces before it), and a line of its own for any lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCK = re.compile(r"^```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<body>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_INSERTED = re.compile(r"^<!-- \$ (?P<command>[^\n]*?) -->\n(?P<body>.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE)
SHELL, DEBUGGER = "$ ", "(vsm) "


@dataclass(frozen=True)
class Block:
    """A fenced block, or (`language` "inserted", `title` the command) a text that a command prints.

    `start` and `end` are the places of `body` in the page's text, `line` is the number of the block's first line.
    """

    language: str
    title: str
    body: str
    start: int
    end: int
    line: int

    @property
    def first(self) -> str:
        """The first line of the block."""
        return self.body.partition("\n")[0]

    @property
    def runs(self) -> bool:
        """Whether the block shows what something prints."""
        if self.language == "console":
            return self.body.startswith((SHELL, DEBUGGER))
        return self.language == "inserted" or (self.language == "python" and self.body.startswith(">>> "))


def blocks(text: str) -> Iterator[Block]:
    """All blocks of a page in order."""
    found = [(match, False) for match in _BLOCK.finditer(text)] + [(match, True) for match in _INSERTED.finditer(text)]
    for match, inserted in sorted(found, key=lambda pair: pair[0].start()):
        line = text.count("\n", 0, match.start()) + 1
        if inserted:
            yield Block("inserted", match["command"], match["body"], *match.span("body"), line)
        else:
            title = re.search(r'title="([^"]*)"', match["info"])
            yield Block(match["language"], title[1] if title else "", match["body"], *match.span("body"), line)


def dialogue(body: str, prompt: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it."""
    for part in re.split(rf"^{re.escape(prompt)}", body, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def agrees(shown: str, printed: str) -> bool:
    """Whether a shown output, with its `...`, fits a printed one; spaces at the ends of lines do not count."""
    pattern = "\n".join(re.escape(line.rstrip()) for line in shown.rstrip().split("\n"))
    pattern = re.sub(r"(^|\n)\s*(?:\\\.){3}(?=\n|$)", r"\1(?:.*\\n)*.*", pattern)
    pattern = re.sub(r"(?:\\ )*(?:\\\.){3}", "[^\\n]*", pattern)
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.rstrip().split("\n"))) is not None
