"""Types of option values: how a value is read from Python, from `--name=value` and from an environment variable."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Protocol

from compiler.options.spelling import nearest


class Kind(Protocol):
    """A type of values.  `expected` says in words what is allowed; `parse` raises ValueError for anything else."""

    @property
    def expected(self) -> str: ...

    def parse(self, value: Any) -> Any: ...

    def text(self, value: Any) -> str:
        """The form that `parse` reads back."""
        ...


class _PlainText:
    def text(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True)
class Choice(_PlainText):
    """One of a few words."""

    values: tuple[str, ...]

    @property
    def expected(self) -> str:
        return "one of " + ", ".join(self.values)

    def parse(self, value: Any) -> str:
        if isinstance(value, str) and value in self.values:
            return value
        raise ValueError(nearest(str(value), self.values))


@dataclass(frozen=True)
class Integer(_PlainText):
    """A whole number not below `low`."""

    low: int | None = None

    @property
    def expected(self) -> str:
        return "a whole number" if self.low is None else f"a whole number of at least {self.low}"

    def parse(self, value: Any) -> int:
        number = _number(value, int)
        if self.low is not None and number < self.low:
            raise ValueError
        return int(number)


@dataclass(frozen=True)
class Real(_PlainText):
    """A number in [low, high]."""

    low: float
    high: float

    @property
    def expected(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"

    def parse(self, value: Any) -> float:
        number = _number(value, float)
        if math.isnan(number) or not self.low <= number <= self.high:
            raise ValueError
        return float(number)


def _number(value: Any, number: type[int] | type[float]) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError
    if number is int and isinstance(value, float):
        raise ValueError
    return number(value)


@dataclass(frozen=True)
class Boolean:
    """True or false; as text `1`, `0`, `true` or `false`."""

    @property
    def expected(self) -> str:
        return "true or false"

    def parse(self, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        words = {"1": True, "true": True, "0": False, "false": False}
        if isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
        raise ValueError

    def text(self, value: Any) -> str:
        return "true" if value else "false"


@dataclass(frozen=True)
class Flag:
    """Off unless set; any text that is not empty switches on, conventionally 1 (compiler.md 9.3)."""

    @property
    def expected(self) -> str:
        return "any text to switch on, conventionally 1"

    def parse(self, value: Any) -> bool:
        return bool(str(value))

    def text(self, value: Any) -> str:
        return "1" if value else ""


@dataclass(frozen=True)
class FilePath(_PlainText):
    """A path of a file."""

    @property
    def expected(self) -> str:
        return "a path"

    def parse(self, value: Any) -> str:
        if isinstance(value, (str, os.PathLike)) and str(value):
            return os.fspath(value) if not isinstance(value, str) else value
        raise ValueError


@dataclass(frozen=True)
class Words:
    """A list of words, separated by commas."""

    @property
    def expected(self) -> str:
        return "words separated by commas"

    def parse(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, str):
            raise ValueError
        return tuple(word.strip() for word in value.split(",") if word.strip())

    def text(self, value: Any) -> str:
        return ",".join(value)


@dataclass(frozen=True)
class Assignments:
    """A list `Operator=Implementation`, separated by commas."""

    @property
    def expected(self) -> str:
        return "assignments Operator=Implementation separated by commas"

    def parse(self, value: Any) -> dict[str, str]:
        if not isinstance(value, str):
            raise ValueError
        pairs: dict[str, str] = {}
        for part in (piece.strip() for piece in value.split(",")):
            if not part:
                continue
            name, sign, implementation = part.partition("=")
            if not sign or not name.strip() or not implementation.strip():
                raise ValueError
            pairs[name.strip()] = implementation.strip()
        return pairs

    def text(self, value: Any) -> str:
        return ",".join(f"{name}={implementation}" for name, implementation in value.items())
