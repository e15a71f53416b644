"""Which stretches of the board's DRAM are in use.  One map serves all four groups: addresses are the same in each."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from runtime.errors import DeviceMemoryError

UNIT = 1024  # long words; slots are multiples of it, as in the vendor's listings (compiler.md 6)


@dataclass(frozen=True, slots=True, order=True)
class Extent:
    """Long words [start, start + size) of the DRAM of every group."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """First address behind the extent."""
        return self.start + self.size


class DramAllocator:
    """First-fit allocator over `capacity` long words."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._used: list[Extent] = []

    @property
    def used(self) -> int:
        """Long words per group that are taken."""
        return sum(extent.size for extent in self._used)

    def allocate(self, size: int, preferred: int | None = None) -> Extent:
        """Take `size` long words, rounded up to the unit; at `preferred` if that stretch is free, else at the
        lowest fit.

        Raises DeviceMemoryError.
        """
        size = max(UNIT, -(-size // UNIT) * UNIT)
        if preferred is not None and self._is_free(preferred, size):
            return self._take(Extent(preferred, size))
        start = 0
        for extent in self._used:
            if extent.start - start >= size:
                break
            start = -(-extent.end // UNIT) * UNIT
        if start + size > self.capacity:
            free = self.capacity - self.used
            raise DeviceMemoryError(
                f"the board has no free stretch of {size} long words per group ({free} of {self.capacity} are free); "
                "drop results that are no longer needed, or call Context.invalidate() on a context that is done"
            )
        return self._take(Extent(start, size))

    def free(self, extent: Extent) -> None:
        """Give an extent back."""
        self._used.remove(extent)

    def _is_free(self, start: int, size: int) -> bool:
        if start < 0 or start + size > self.capacity:
            return False
        at = bisect.bisect_right(self._used, Extent(start, size))
        before = self._used[at - 1].end if at else 0
        after = self._used[at].start if at < len(self._used) else self.capacity
        return before <= start and start + size <= after

    def _take(self, extent: Extent) -> Extent:
        bisect.insort(self._used, extent)
        return extent
