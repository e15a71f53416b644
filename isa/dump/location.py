"""Places a debug statement can name (isa.md 14.1): ``$<mem><addr>[n<g>][c<l>][b<b>][m<m>][p<p>]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

from hw.state.memory import Memory
from isa.errors import AsmError, nearest
from isa.numerals import decimal

LEVELS = "ncbmp"
COUNTS = (4, 2, 8, 16, 4)
_REFUSED_FROM = (4, 10, 8, 100, 4)  # the official assembler lets c2..c9 and m16..m99 pass; they name nothing

# text before the address -> (memory, long words per row: 0 = a single word)
_NAMES: dict[str, tuple[Memory, int]] = {
    **{
        f"{prefix}{letter}": (memory, lws)
        for letter, memory in (("m", Memory.LM0), ("n", Memory.LM1), ("r", Memory.GRF0), ("s", Memory.GRF1))
        for prefix, lws in (("", 0), ("l", 1), ("ll", 2))
    },
    "t": (Memory.T, 1),
    "lt": (Memory.T, 1),
    "llt": (Memory.T, 2),
    "omr": (Memory.MASK, 1),
    "lb": (Memory.L1BM, 1),
    "llb": (Memory.L1BM, 2),
    "lc": (Memory.L2BM, 1),
    "d": (Memory.DRAM, 1),
    "p": (Memory.PDM, 1),
    "lx": (Memory.MATRIX_X, 1),
    "ly": (Memory.MATRIX_Y, 1),
}
MATRICES = (Memory.MATRIX_X, Memory.MATRIX_Y)
_T_NAMES = ("t", "lt", "llt")  # T has no address
_TEXT = re.compile(
    rf"\$(?:({'|'.join(_T_NAMES)})|({'|'.join(n for n in _NAMES if n not in _T_NAMES)})(\d+))((?:[ncbmp]\d+)*)"
)
_C_AND_B = re.compile(r"[cb]\d+")
_LEVEL = re.compile(r"([ncbmp])(\d+)")


@dataclass(frozen=True, slots=True)
class Location:
    """A parsed place.  `lws` is 0 for word, 1 for LW, 2 for 2LW access; `indices` has an entry or None per level."""

    text: str
    memory: Memory
    lws: int
    address: int
    indices: tuple[int | None, ...]

    def places(self) -> list[tuple[int, ...]]:
        """Every instance the place names, in increasing order with the last level fastest; empty beyond the machine."""
        ranges = [
            range(count) if index is None else range(index, min(index + 1, count))
            for index, count in zip(self.indices, COUNTS, strict=False)
        ]
        return list(product(*ranges))


def place_name(place: tuple[int, ...]) -> str:
    """``n0c0b0m0p0`` for as many levels as there are."""
    return "".join(f"{level}{index}" for level, index in zip(LEVELS, place, strict=False))


def parse_location(text: str) -> Location:
    """Parse a place.  Raises AsmError (debug/location, debug/index)."""
    match = _TEXT.fullmatch(text)
    if match is None:
        names = [f"${name}0n0c0b0m0p0" for name in _NAMES if not name.endswith("t")]
        raise AsmError(
            "debug/location",
            f"`{text}` is no place a debug statement can name",
            expected="$<memory><address> and then n, c, b, m, p in this order, as in `$lm0n0c0b0m0p0`; `$ltn0` for T",
            nearest=nearest(text, names),
        )
    name, levels = match[1] or match[2], match[4]
    memory, lws = _NAMES[name]
    if memory is Memory.T and name == "t":
        text = f"$l{text[1:]}"  # the official tools echo `$t..` as `$lt..`
    indices: list[int | None] = [None] * len(LEVELS)
    last = -1
    for level, number in _LEVEL.findall(levels):
        at = LEVELS.index(level)
        if at <= last:
            raise AsmError("debug/location", f"`{text}`: levels come once each", expected="the order n c b m p")
        last = at
        if decimal(number) >= _REFUSED_FROM[at]:
            raise AsmError(
                "debug/index", f"`{text}`: no {level}{number}", expected=f"{level}0..{level}{COUNTS[at] - 1}"
            )
        indices[at] = decimal(number)
    if indices[0] is None and memory is not Memory.T:
        # without a group the official tools drop c and b, from the echoed text too
        indices[1] = indices[2] = None
        text = text[: match.start(4)] + _C_AND_B.sub("", levels)
    return Location(text, memory, lws, decimal(match[3] or "0"), tuple(indices[: len(memory.levels)]))
