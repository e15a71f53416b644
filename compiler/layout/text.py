"""Reading layout texts: `((8_L2B:1, 2:1), (); B@[PE,W])`, with or without a shape in front.  Source: compiler.md 5.1.

Blanks may stand anywhere between the signs, so the compact spelling of user files is read as well.
"""

from __future__ import annotations

import re

from compiler.layout.errors import LayoutError
from compiler.layout.levels import Level, level_named
from compiler.layout.terms import Axis, Broadcast, SubAxis

_TOKEN = re.compile(r"\s*(?:(?P<word>[A-Za-z0-9_]+)|(?P<sign>[()\[\],;:/@]))")
_SUBAXIS = re.compile(r"(\d+)(?:_([A-Za-z0-9_]+))?")


class _Reader:
    """The tokens of one text with a cursor; every error shows the text and where it went wrong."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        self.cursor = 0
        end = len(text.rstrip())
        at = 0
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise self.error(f"unexpected {text[at]!r}", at)
            self.tokens.append((match["word"] or match["sign"], match.start(match.lastgroup or 0)))
            at = match.end()

    def error(self, what: str, at: int | None = None) -> LayoutError:
        if at is None:
            at = self.tokens[self.cursor][1] if self.cursor < len(self.tokens) else len(self.text)
        return LayoutError(f"layout {self.text!r}, column {at + 1}: {what}")

    def peek(self) -> str:
        return self.tokens[self.cursor][0] if self.cursor < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if expected and token not in expected:
            wanted = " or ".join(map(repr, expected))
            raise self.error(f"expected {wanted}, found {repr(token) if token else 'the end'}")
        self.cursor += 1
        return token

    def finish(self) -> None:
        if self.cursor < len(self.tokens):
            raise self.error(f"expected the end, found {self.peek()!r}")

    def number(self) -> int:
        if not self.peek().isdigit():
            raise self.error(f"expected a number, found {repr(self.peek()) if self.peek() else 'the end'}")
        return int(self.take())

    def term(self) -> tuple[int, Level, int, bool]:
        """`EXTENT [ "_" LEVEL ] [ ":" STRIDE ]` as (extent, level, stride, stride left out)."""
        match = _SUBAXIS.fullmatch(self.peek())
        if match is None:
            found = repr(self.peek()) if self.peek() else "the end"
            raise self.error(f"expected a subaxis such as '4_PE:1' or '8:2', found {found}")
        level = self.level(match[2]) if match[2] else Level.ADDR
        self.take()
        bare = self.peek() != ":"
        stride = 1
        if not bare:
            self.take(":")
            stride = self.number()
        return int(match[1]), level, stride, bare

    def level(self, name: str) -> Level:
        try:
            return level_named(name)
        except LayoutError as error:
            raise self.error(str(error)) from None

    def axis(self) -> Axis:
        self.take("(")
        subaxes: list[SubAxis] = []
        while self.peek() != ")":
            if subaxes:
                self.take(",", ")")
            subaxes.append(SubAxis(*self.term()))
        self.take(")")
        return Axis(tuple(subaxes))

    def broadcast(self) -> Broadcast:
        if self.peek()[:1].isdigit():
            extent, level, stride, bare = self.term()
            return Broadcast(level, extent, stride, bare)
        level = self.level(self.peek())
        self.take()
        return Broadcast(level)

    def spec(self) -> tuple[tuple[Axis, ...], tuple[Broadcast, ...]]:
        self.take("(")
        axes: list[Axis] = []
        while self.peek() not in (")", ";"):
            if axes:
                self.take(",", ";", ")")
            axes.append(self.axis())
        broadcast: list[Broadcast] = []
        if self.take(")", ";") == ";":
            self.take("B")
            self.take("@")
            self.take("[")
            broadcast.append(self.broadcast())
            while self.take(",", "]") == ",":
                broadcast.append(self.broadcast())
            self.take(")")
        return tuple(axes), tuple(broadcast)

    def shape(self) -> tuple[int, ...]:
        self.take("(")
        extents: list[int] = []
        while self.peek() != ")":
            if extents:
                self.take(",", ")")
            extents.append(self.number())
        self.take(")")
        return tuple(extents)


def read_layout(text: str) -> tuple[tuple[Axis, ...], tuple[Broadcast, ...]]:
    """Axes and broadcast entries of a layout text; LayoutError names the column."""
    reader = _Reader(text)
    spec = reader.spec()
    reader.finish()
    return spec


def read_pad_layout(text: str) -> tuple[tuple[int, ...], tuple[Axis, ...], tuple[Broadcast, ...]]:
    """Shape, axes and broadcast entries of a text such as `(125)/((8_L2B:1, 16:1))`."""
    reader = _Reader(text)
    shape = reader.shape()
    reader.take("/")
    axes, broadcast = reader.spec()
    reader.finish()
    return shape, axes, broadcast
