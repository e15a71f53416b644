"""The suffix of an MV mnemonic: `/n<size>[i<TT>][nd<N>][p<prio>]` in any order (isa.md 6.1, 2.5)."""

from __future__ import annotations

import re

from hw.value import value
from isa.errors import AsmError
from isa.numerals import NUMBER, to_int

UNIT = 64
LARGEST = 32704
"""The largest size the field of the instruction word holds."""

_TAG = re.compile(r"[0-9A-Fa-f]{2}")
_OPTION = re.compile(rf"(nd|n|p)((?:{NUMBER})?)|(i)([0-9A-Za-z]{{0,2}})")


@value
class MvOptions:
    """Size in units of the form, completion tag (0 none), uses of one DAR entry (None: all), priority."""

    size: int
    tag: int = 0
    repeat: int | None = None
    priority: int = 0


def parse_tag(text: str, where: str) -> int:
    """The two hexadecimal digits after `i`; 0..255 (above 63 the machine's public manual does not go)."""
    if not _TAG.fullmatch(text):
        raise AsmError(
            "mv/tag", f"{where}: `i{text}` is no tag", expected="`i` and two hexadecimal digits, as in `i01`"
        )
    return int(text, 16)


def _number(name: str, text: str, where: str, high: int) -> int:
    if not text:
        raise AsmError(
            "mv/suffix", f"{where}: `{name}{text}` needs a decimal number", expected=f"{name}0..{name}{high}"
        )
    if to_int(text) > high:
        raise AsmError("mv/suffix", f"{where}: `{name}{text}` is too large", expected=f"{name}0..{name}{high}")
    return to_int(text)


def _split(body: str, where: str) -> dict[str, str]:
    """The options as name -> digits."""
    found: dict[str, str] = {}
    position = 0
    while position < len(body):
        match = _OPTION.match(body, position)
        if not match:
            raise AsmError("mv/suffix", f"{where}: unknown option `{body[position:]}`", expected="n, i, nd or p")
        name = match[1] or match[3]
        if name in found:
            raise AsmError("mv/suffix", f"{where}: option `{name}` is given twice")
        found[name] = match[2] or match[4] or ""
        position = match.end()
    return found


def parse_options(rest: str, where: str) -> MvOptions:
    """Parse the text after an MV mnemonic, `/` included.

    Raises:
        AsmError: rules mv/suffix, mv/size, mv/tag.
    """
    if not rest.startswith("/"):
        raise AsmError("mv/size", f"{where}: the size is missing", expected=f"{where}/n64")
    found = _split(rest[1:], where)
    if "n" not in found:
        raise AsmError("mv/size", f"{where}: the size is missing", expected=f"{where}/n64")
    size = _number("n", found["n"], where, LARGEST)
    if size % UNIT:
        raise AsmError(
            "mv/size",
            f"{where}: size {size} is no multiple of {UNIT}",
            expected=f"n{size // UNIT * UNIT} or n{(size // UNIT + 1) * UNIT}",
        )
    repeat = _number("nd", found["nd"], where, 31) if "nd" in found else 0
    return MvOptions(
        size,
        parse_tag(found["i"], where) if "i" in found else 0,
        repeat or None,
        _number("p", found["p"], where, 3) if "p" in found else 0,
    )
