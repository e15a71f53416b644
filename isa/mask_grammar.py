"""Mask expressions: `/1000`, `/$imr1`, their `ll` forms, and the persistent `mask` line (isa.md 4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from isa.errors import AsmError
from isa.numerals import NUMBER, to_int
from isa.operand import Kind, MaskExpr

ENTRIES = 32
PATTERNS = 16

_EXPRESSION = re.compile(rf"(?:(ll)?([01]{{4}})|\$(ll)?imr({NUMBER}))([tp]?)")
_LINE = re.compile(rf"mask(ll|l)?([a-z]*)\s+({NUMBER})")

# Every letter of a mask line and what it masks; a base address goes with its memory.
TARGETS: dict[str, tuple[Kind, ...]] = {
    "r": (Kind.GRF0,),
    "s": (Kind.GRF1,),
    "t": (Kind.T,),
    "m": (Kind.LM0, Kind.BAR0),
    "n": (Kind.LM1, Kind.BAR1),
    "k": (Kind.OMR,),
}


@dataclass(frozen=True, slots=True)
class PersistentMask:
    """The setting of the last `mask` line: `entry` applies to writes of `targets`; `words` selects `ll` bits."""

    entry: int = 0
    words: bool = False
    targets: frozenset[Kind] = frozenset()


NO_MASK = PersistentMask()


def parse_mask(text: str, where: str, *, suffix: bool = True) -> MaskExpr:
    """Parse the text after `/`.  A pattern of four binary digits is entry 16 + pattern; `suffix` permits `t`, `p`."""
    mask = _expression(text)
    if mask is None or (mask.escape and not suffix):
        raise AsmError("mask/text", f"{where}: `/{text}` is no mask", expected="/1000, /ll1000, /$imr1 or /$llimr1")
    if mask.entry >= ENTRIES:
        raise AsmError("address/mask-register", f"{where}: no mask register {mask.entry}", expected="$imr0..$imr31")
    return mask


@lru_cache(maxsize=4096)
def _expression(text: str) -> MaskExpr | None:
    match = _EXPRESSION.fullmatch(text)
    if not match:
        return None
    pattern = match[2]
    entry = PATTERNS + int(pattern, 2) if pattern else to_int(match[4])
    return MaskExpr(entry, bool(match[1] if pattern else match[3]), match[5])


def parse_mask_line(text: str) -> PersistentMask:
    """Parse `maskllmr 9`.  Without letters nothing is masked, whatever the entry (isa.md 4.3)."""
    match = _LINE.fullmatch(text)
    if not match:
        raise AsmError(
            "mask/line",
            f"`{text}` is no mask line",
            expected="mask[l|ll][letters of r s t m n k] entry, as in `maskr 1`",
        )
    letters, entry = match[2], to_int(match[3])
    for letter in letters:
        if letter not in TARGETS:
            raise AsmError("mask/line", f"unknown mask target `{letter}`", expected=" ".join(TARGETS))
        if letters.count(letter) > 1:
            raise AsmError("mask/line", f"mask target `{letter}` is given twice")
    if not letters:
        return NO_MASK
    if entry >= ENTRIES:
        raise AsmError("address/mask-register", f"`{text}`: no mask register {entry}", expected="0..31")
    return PersistentMask(entry, match[1] == "ll", frozenset(kind for letter in letters for kind in TARGETS[letter]))
