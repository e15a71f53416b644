"""Errors of the assembly language: a refusal names its line, its rule, what was expected and the nearest spelling."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class IsaError(Exception):
    """Base of every error the `isa` package raises."""


class AsmWarning(UserWarning):
    """Text that is legal but does not do what it seems to."""


class AsmError(IsaError):
    """A program text that the assembler refuses.

    Attributes:
        rule: stable identifier of the violated rule, `family/name` (see `isa.reference` for the list).
        message: what is wrong, naming the offending text.
        expected: what would have been legal, or "".
        nearest: the closest legal spelling, or "".
        line: 1-based source line, 0 while unknown.
        source: the text of that line.
    """

    def __init__(
        self, rule: str, message: str, *, expected: str = "", nearest: str = "", line: int = 0, source: str = ""
    ) -> None:
        self.rule = rule
        self.message = message
        self.expected = expected
        self.nearest = nearest
        self.line = line
        self.source = source
        super().__init__(rule, message)

    @property
    def hint(self) -> str:
        """The expectation and the nearest spelling as one sentence, "" if neither is known."""
        parts = [f"expected {self.expected}"] if self.expected else []
        if self.nearest:
            parts.append(f"did you mean `{self.nearest}`?")
        return "; ".join(parts)

    def at(self, line: int, source: str) -> AsmError:
        """The same error with its place in the program."""
        return AsmError(self.rule, self.message, expected=self.expected, nearest=self.nearest, line=line, source=source)

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        hint = f" ({self.hint})" if self.hint else ""
        text = f"\n    {self.source.strip()}" if self.source else ""
        return f"{where}{self.message} [{self.rule}]{hint}{text}"


def nearest(word: str, choices: Iterable[str]) -> str:
    """The legal spelling closest to `word`, "" when none is similar."""
    found = get_close_matches(word, list(choices), n=1, cutoff=0.6)
    return found[0] if found else ""
