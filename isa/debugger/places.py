"""Places as the debugger writes them: those of debug statements (isa.md 14.1), sets of PEs, and more registers.

``$lm0n0c0b0m0p0`` is one PE, ``$lm0m0-3p0,2`` a set (MABs 0 to 3, PEs 0 and 2, everywhere), ``$lm0`` all.  Beyond the
memories of debug statements: ``$aluf $mauf $lbf $mreadf`` (rows are cycles), ``$lbi``, ``$mb $nb``, ``$dar<e>``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

from hw.lockstep import Store
from isa.debugger.errors import DebuggerError
from isa.dump.location import COUNTS, LEVELS, Location
from isa.errors import nearest

# name -> (store, long words per row; 0 = a word)
_ADDRESSED: dict[str, tuple[Store, int]] = {
    **{
        f"{prefix}{letter}": (store, lws)
        for letter, store in (("m", Store.LM0), ("n", Store.LM1), ("r", Store.GRF0), ("s", Store.GRF1))
        for prefix, lws in (("", 0), ("l", 1), ("ll", 2))
    },
    "omr": (Store.MASK, 1),
    "lb": (Store.L1BM, 1),
    "llb": (Store.L1BM, 2),
    "lc": (Store.L2BM, 1),
    "d": (Store.DRAM, 1),
    "p": (Store.PDM, 1),
    "lx": (Store.MATRIX_X, 1),
    "ly": (Store.MATRIX_Y, 1),
    "dar": (Store.DAR, 1),
}
_PLAIN: dict[str, tuple[Store, int]] = {
    "t": (Store.T, 1),
    "lt": (Store.T, 1),
    "llt": (Store.T, 2),
    "aluf": (Store.ALUF, 2),
    "mauf": (Store.MAUF, 2),
    "lbf": (Store.LBF, 2),
    "mreadf": (Store.MREADF, 2),
    "lbi": (Store.TURN, 1),
    "mb": (Store.BAR0, 1),
    "nb": (Store.BAR1, 1),
}
_PLACE = "n0c0b0m0p0"
_NUMBERS = r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*"
_ADDRESSED_TEXT = "|".join(sorted(_ADDRESSED, key=len, reverse=True))
_TEXT = re.compile(rf"\$(?:({'|'.join(_PLAIN)})|({_ADDRESSED_TEXT})(\d+))((?:[ncbmp]{_NUMBERS})*)")
_LEVEL = re.compile(rf"([ncbmp])({_NUMBERS})")
_PE_TEXT = re.compile(rf"(?:[ncbmp]{_NUMBERS})+")
_PE_LEVELS = 5
_MATRIX_LEVELS = 4


@dataclass(frozen=True, slots=True)
class PlaceSet:
    """A parsed place.  lws: 0 for word, 1 for LW, 2 for 2LW access.  chosen: the indices of each level, all if None."""

    text: str
    store: Store
    lws: int
    address: int
    chosen: tuple[tuple[int, ...] | None, ...]

    def places(self) -> list[tuple[int, ...]]:
        """Every instance, in increasing order with the last level fastest."""
        counts = COUNTS[: len(self.chosen)]
        return list(product(*(range(n) if c is None else c for c, n in zip(self.chosen, counts, strict=True))))

    @property
    def levels(self) -> tuple[tuple[int, ...] | None, ...]:
        """The choice at all five levels; what the store does not have counts as all."""
        return (*self.chosen, *[None] * (_PE_LEVELS - len(self.chosen)))


@dataclass(frozen=True, slots=True)
class DumpLocation(Location):
    """A location of `isa.dump` with sets of indices."""

    chosen: tuple[tuple[int, ...], ...] = ()

    def places(self) -> list[tuple[int, ...]]:
        """The instances of the set."""
        return list(self.chosen)


def _indices(level: str, text: str, whole: str) -> tuple[int, ...]:
    count = COUNTS[LEVELS.index(level)]
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    if not found or max(found) >= count:
        raise DebuggerError(f"`{whole}`: no {level}{text}; expected {level}0..{level}{count - 1}")
    return tuple(sorted(found))


def _levels(text: str, whole: str) -> list[tuple[int, ...] | None]:
    chosen: list[tuple[int, ...] | None] = [None] * _PE_LEVELS
    last = -1
    for level, numbers in _LEVEL.findall(text):
        at = LEVELS.index(level)
        if at <= last:
            raise DebuggerError(f"`{whole}`: levels come once each, in the order n c b m p")
        last = at
        chosen[at] = _indices(level, numbers, whole)
    return chosen


def parse_place(text: str) -> PlaceSet:
    """Parse a place with an address.  Raises DebuggerError."""
    match = _TEXT.fullmatch(text)
    if match is None:
        names = [f"${name}0{_PLACE}" for name in _ADDRESSED] + [f"${name}{_PLACE}" for name in _PLAIN]
        close = nearest(text, names)
        hint = f"; did you mean `{close}`?" if close else ""
        raise DebuggerError(
            f"`{text}` is no place; expected e.g. `$lm0{_PLACE}`, `$lr8m0-3`, `$lc0n1c0`, `$aluf`{hint}"
        )
    name = match[1] or match[2]
    store, lws = _PLAIN[name] if match[1] else _ADDRESSED[name]
    count = _MATRIX_LEVELS if store in (Store.MATRIX_X, Store.MATRIX_Y) else len(store.levels)
    return PlaceSet(text, store, lws, int(match[3] or 0), tuple(_levels(match[4], text)[:count]))


def parse_pe(text: str) -> tuple[int, ...]:
    """One PE, ``n0c0b0m0p0``; levels left out are 0.  Raises DebuggerError."""
    if not _PE_TEXT.fullmatch(text):
        raise DebuggerError(f"`{text}` is no PE; expected e.g. `{_PLACE}`")
    levels = _levels(text, text)
    if any(level is not None and len(level) > 1 for level in levels):
        raise DebuggerError(f"`{text}` names several PEs; expected one, e.g. `{_PLACE}`")
    return tuple(0 if level is None else level[0] for level in levels)
