"""`d get` and `d set` statements as data, and their canonical text (isa.md 14.2, 14.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isa.dump.location import MATRICES, Location, parse_location
from isa.dump.payload import parse_payload
from isa.errors import AsmError, nearest
from isa.numerals import decimal

FORMATS = ("", "d", "f", "h", "bd", "bf", "bg", "bh")
_COUNT = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, slots=True)
class Get:
    """`d get<format> <location> <count>`; `text` is what the dump lines echo after `#`."""

    format: str
    location: Location
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class Set:
    """`d set <location> <count> <payload>`; `text` has the payload as raw upper-case digits."""

    location: Location
    count: int
    values: tuple[int, ...]
    text: str


def parse_debug(text: str) -> Get | Set:
    """Parse a debug statement, with or without the leading `d`; comments start at `#`.

    Raises AsmError: debug/statement, debug/format, debug/count, debug/payload, debug/location, debug/index.
    """
    words = text.partition("#")[0].split()
    if words[:1] == ["d"]:
        words = words[1:]
    if not words:
        raise AsmError("debug/statement", "an empty debug statement", expected="`d get ...` or `d set ...`")
    verb, arguments = words[0], words[1:]
    if verb == "set":
        return _set(arguments)
    if not verb.startswith("get"):
        raise AsmError(
            "debug/statement",
            f"unknown debug statement `{verb}`",
            nearest=nearest(verb, ["set", *map("get".__add__, FORMATS)]),
        )
    if verb[3:] not in FORMATS:
        raise AsmError(
            "debug/format",
            f"unknown dump format `{verb[3:]}`",
            expected="get, getd, getf, geth, getbd, getbf, getbg, getbh",
        )
    if len(arguments) < 2:
        raise AsmError("debug/count", f"`d {verb}` needs a place and a number of rows", expected=f"d {verb} $lm0m0p0 1")
    location = parse_location(arguments[0])
    if location.memory in MATRICES and not verb[3:]:
        raise AsmError(
            "debug/format", f"`{location.text}`: matrix rows need a format", nearest=f"d getd {location.text}"
        )
    # what follows the count is echoed and has no meaning, as in the official tools
    return Get(verb[3:], location, _count(arguments[1]), " ".join(["d", verb, location.text, *arguments[1:]]))


def _count(text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise AsmError("debug/count", f"`{text}` is no number of rows", expected="a decimal number")
    return decimal(text)


def _set(arguments: list[str]) -> Set:
    if len(arguments) < 2:
        raise AsmError("debug/count", "`d set` needs a place, a count and a payload", expected="d set $lm0m0p0 1 l1")
    location = parse_location(arguments[0])
    if location.memory in MATRICES:
        raise AsmError("debug/location", f"`{location.text}`: matrix registers cannot be set")
    count = _count(arguments[1])
    values = parse_payload("".join(arguments[2:3]), count * max(1, location.lws))
    digits = "".join(f"{value:016X}" for value in values)
    return Set(location, count, values, f"d set {location.text} {count} {digits}")
