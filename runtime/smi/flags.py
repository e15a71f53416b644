"""Options as the official command takes them: one or two dashes, the value behind `=` or as the next word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime.errors import MLSDKError, did_you_mean


class FlagError(MLSDKError, ValueError):
    """A command line that means nothing."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Options by name ("" for those without a value) and the other words."""

    options: Mapping[str, str]
    words: tuple[str, ...]


def parse(arguments: Sequence[str], flags: Mapping[str, bool]) -> Parsed:
    """Split a command line.  flags: known options, True for those that take a value.  Raises FlagError."""
    options: dict[str, str] = {}
    words: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return Parsed(options, (*words, *rest))
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if name not in flags:
            known = " ".join(f"-{flag}" for flag in flags) or "none"
            raise FlagError(f"unknown option {word!r}{did_you_mean(name, flags)} (options are {known})")
        if name in options:
            raise FlagError(f"-{name} is given twice")
        if flags[name] and not equals:
            if not rest:
                raise FlagError(f"-{name} needs a value")
            value = rest.pop(0)
        if not flags[name] and equals:
            raise FlagError(f"-{name} takes no value, got {value!r}")
        options[name] = value
    return Parsed(options, tuple(words))


def whole_number(name: str, text: str, most: int) -> int:
    """The value of an option as 0 to `most`, decimal or with 0x, 0o, 0b.  Raises FlagError."""
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value <= most:
        raise FlagError(f"-{name} {text}: expected a whole number from 0 to {most:#x}")
    return value
