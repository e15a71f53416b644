"""What may follow a mnemonic: block length, MAB number, L1B set, shift.  A zero flush is split off afterwards."""

from __future__ import annotations

import re
from enum import Enum

from isa.errors import AsmError
from isa.mv_suffix import MvOptions, parse_options
from isa.numerals import NUMBER, to_int

SuffixValue = int | tuple[int, int] | MvOptions | None
"""Length, MAB number or shift; an L1B set as (address, ignore mask); options of an MV; None when absent."""


class Suffix(Enum):
    """Kinds of suffix; the value is how the reference page prints it."""

    NONE = ""
    LENGTH = "/6../9"
    MAB = "@0..@15"
    L1B = "@0..@7"
    SET = "[@a[/i]]"
    SET_REQUIRED = "@a[/i]"
    SHIFT = "[+n|-n]"
    MV = "/n<size>[i<TT>][nd<N>][p<prio>]"


_NUM = f"({NUMBER})"
_PATTERNS = {
    Suffix.LENGTH: re.compile(rf"/{_NUM}(?=/|$)"),
    Suffix.MAB: re.compile(rf"@{_NUM}"),
    Suffix.L1B: re.compile(rf"@{_NUM}"),
    Suffix.SET: re.compile(rf"@{_NUM}(?:/{_NUM})?$"),
    Suffix.SET_REQUIRED: re.compile(rf"@{_NUM}(?:/{_NUM})?$"),
    Suffix.SHIFT: re.compile(rf"([+-]){_NUM}"),
}
_OPTIONAL = (Suffix.SET, Suffix.SHIFT)


def take_suffix(kind: Suffix, rest: str, word: str) -> tuple[SuffixValue, str]:
    """Read the suffix of `word` from `rest`; returns its value and what is left (a zero flush or "").

    Raises:
        AsmError: rule suffix/missing or suffix/range.
    """
    if kind is Suffix.NONE:
        return None, rest
    if kind is Suffix.MV:
        return parse_options(rest, word), ""
    match = _PATTERNS[kind].match(rest)
    if not match:
        if kind in _OPTIONAL:
            return None, rest
        raise AsmError("suffix/missing", f"`{word}` needs a suffix", expected=kind.value)
    left = rest[match.end() :]
    if kind is Suffix.SHIFT:
        # Kept as written: the turnaround rule compares shifts before they are taken modulo 16.
        shift = to_int(match[2])
        return -shift if match[1] == "-" else shift, left
    number = to_int(match[1])
    low, high = {Suffix.LENGTH: (6, 9), Suffix.MAB: (0, 15)}.get(kind, (0, 7))
    if not low <= number <= high:
        raise AsmError("suffix/range", f"`{word}`: {number} is out of range", expected=f"{low}..{high}")
    if kind in (Suffix.SET, Suffix.SET_REQUIRED):
        ignore = to_int(match[2] or "0")
        top = 6 if kind is Suffix.SET_REQUIRED else 7
        if ignore > top:
            raise AsmError("suffix/range", f"`{word}`: ignore mask {ignore} is out of range", expected=f"0..{top}")
        return (number, ignore), left
    return number, left


def members(value: SuffixValue) -> tuple[int, ...]:
    """The L1Bs of a set: those that agree with its address in the bits that are not ignored; all without a set."""
    if not isinstance(value, tuple):
        return tuple(range(8))
    address, ignore = value
    keep = 7 ^ ignore
    return tuple(b for b in range(8) if b & keep == address & keep)
