"""Contest layouts such as `((16_MAB:1,4_PE:1,64:1,2_W:1))@$lm[0:128]`: where each tensor element lies (isa.md 16.3)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_AXIS = re.compile(r"(\d+)(?:_(L2B|L1B|MAB|PE|W))?:(\d+)")
_PLACE = re.compile(r"\(\((.*)\)\)@\$(lm|ln|d)\[(\d+):\d+\](?:@(\d))?")
_LEVELS = ("L2B", "L1B", "MAB", "PE")


class LayoutError(ValueError):
    """A layout text that does not follow the notation."""


@dataclass(frozen=True)
class Axis:
    """One digit of an index: `extent` values, each worth `stride` of `level` ("" = long-word address)."""

    extent: int
    level: str
    stride: int


@dataclass(frozen=True, order=True)
class Place:
    """One long word: memory `lm`, `ln` or `d`, its address (words in a PE, long words in DRAM) and its instance.

    `instance` holds the given levels in the order of the dump syntax, such as `m3p1`; DRAM has its group.
    """

    memory: str
    instance: str
    address: int


class Layout:
    """A parsed layout.  `shape` is the tensor's shape; `elements()` walks it in row-major order."""

    def __init__(self, text: str) -> None:
        """Raises LayoutError."""
        found = _PLACE.fullmatch(re.sub(r"\s", "", text))
        if not found:
            raise LayoutError(f"`{text}`: expected `((axes),(axes))@$lm[a:b]`, `$ln[a:b]` or `$d[a:b]@group`")
        dims = found[1].removesuffix(")").split("),(")
        self.text = text
        self.dims = [[Axis(int(n), level, int(s)) for n, level, s in _AXIS.findall(dim)] for dim in dims]
        self.memory, self.base, self.group = found[2], int(found[3]), found[4] or "0"
        self.shape = tuple(_product(axis.extent for axis in dim) for dim in self.dims)

    def elements(self) -> Iterator[tuple[tuple[int, ...], Place, int]]:
        """Per element: index, long word, position inside the long word (0 = most significant)."""
        for index in itertools.product(*(range(n) for n in self.shape)):
            at: dict[str, int] = {}
            for value, dim in zip(index, self.dims, strict=True):
                for axis in reversed(dim):
                    value, digit = divmod(value, axis.extent)
                    at[axis.level] = at.get(axis.level, 0) + digit * axis.stride
            yield index, self._place(at), at.get("W", 0)

    def _place(self, at: dict[str, int]) -> Place:
        offset = at.get("", 0)
        if self.memory == "d":
            return Place("d", f"n{self.group}", self.base + offset)
        names = {"L1B": "b", "MAB": "m", "PE": "p"}
        parts = [f"n{at['L2B'] // 2}c{at['L2B'] % 2}"] if "L2B" in at else []
        parts += [f"{names[level]}{at[level]}" for level in _LEVELS[1:] if level in at]
        return Place(self.memory, "".join(parts), self.base + 2 * offset)


def _product(numbers: Iterator[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total
