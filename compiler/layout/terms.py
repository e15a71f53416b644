"""The terms a layout is made of: subaxes, axes and broadcast entries, and how each is printed.

Source: compiler.md 5.1 (grammar), R1 and R5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.layout.errors import LayoutError
from compiler.layout.levels import Level


def _written(extent: int, level: Level, stride: int, bare: bool) -> str:
    name = "" if level is Level.ADDR else f"_{level}"
    return f"{extent}{name}" if bare and stride == 1 else f"{extent}{name}:{stride}"


@dataclass(frozen=True)
class SubAxis:
    """One digit of an axis: `extent` members of `level`, `stride` positions apart (`16_MAB:1`, `4:2`).

    `bare` remembers that the text left out the stride (which is then 1); it does not take part in comparisons.
    """

    extent: int
    level: Level = Level.ADDR
    stride: int = 1
    bare: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.extent < 1 or self.stride < 1:
            raise LayoutError(f"subaxis {self}: extent and stride must be at least 1")

    def __str__(self) -> str:
        return _written(self.extent, self.level, self.stride, self.bare)

    @property
    def span(self) -> int:
        """Highest position the digit reaches by itself: (extent - 1) * stride."""
        return (self.extent - 1) * self.stride


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor as a mixed-radix number of subaxes, leftmost most significant (R1)."""

    subaxes: tuple[SubAxis, ...] = ()

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.subaxes)) + ")"

    def __iter__(self) -> Iterator[SubAxis]:
        return iter(self.subaxes)

    def __len__(self) -> int:
        return len(self.subaxes)

    @property
    def extent(self) -> int:
        """Padded extent: the product of the subaxes' extents, 1 for `()` (R4)."""
        return math.prod(sub.extent for sub in self.subaxes)

    def weighted(self) -> Iterator[tuple[int, SubAxis]]:
        """Each subaxis with its weight: how far the index moves when its digit grows by one; leftmost first."""
        weight = self.extent
        for sub in self.subaxes:
            weight //= sub.extent
            yield weight, sub


@dataclass(frozen=True)
class Broadcast:
    """One entry of `B@[...]`: a whole level (`L2B`, extent None) or some of its members (`8_L2B:1`)."""

    level: Level
    extent: int | None = None
    stride: int = 1
    bare: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.level is Level.ADDR:
            raise LayoutError("B@[...]: addresses cannot be broadcast, only PE, W, MAB, L1B, L2B (and Time as a whole)")
        if self.extent is not None:
            if self.level is Level.TIME:
                raise LayoutError(f"B@[{self}]: Time can only be listed as a whole; write B@[Time]")
            if self.extent < 1 or self.stride < 1:
                raise LayoutError(f"B@[{self}]: extent and stride must be at least 1")

    def __str__(self) -> str:
        return str(self.level) if self.extent is None else _written(self.extent, self.level, self.stride, self.bare)
