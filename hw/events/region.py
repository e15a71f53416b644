"""The time of one named stretch of a program (a layer)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RegionTime:
    """`[start, end)` in cycles from the issue of the region's first line to that of the next region.

    by_cause adds up to `end - start`.  by_unit: busy cycles of units and ports inside the stretch.  nbytes: bytes by
    link that the region's lines move, whenever they move.  The stretch before the first named region is called "".
    """

    name: str
    start: int
    end: int
    by_cause: Mapping[str, int] = field(default_factory=dict)
    by_unit: Mapping[str, int] = field(default_factory=dict)
    nbytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def cycles(self) -> int:
        """Length in cycles."""
        return self.end - self.start
