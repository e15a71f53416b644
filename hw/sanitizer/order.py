"""The order that values need, beyond the hazard table: read after write, write after write, write after read.

Distances are in steps: within a step all reads come before all writes (isa.md 5.1), so a later write may share the line
of an earlier read (0), everything else needs the next line (1).
"""

from __future__ import annotations

from hw.sanitizer.resources import Access, Footprint


def _touch(first: tuple[Access, ...], second: tuple[Access, ...]) -> bool:
    for a in first:
        for b in second:
            if a.res is b.res and a.total & b.total and a.places & b.places:
                return True
    return False


def value_distance(earlier: Footprint, later: Footprint) -> int | None:
    """1 for a true or output dependency, 0 for "reads what the later one overwrites", None when independent."""
    if _touch(earlier.writes, later.reads) or _touch(earlier.writes, later.writes):
        return 1
    for a in earlier.off_chip:
        for b in later.off_chip:
            if (a.write or b.write) and a.overlaps(b):
                return 1
    return 0 if _touch(earlier.reads, later.writes) else None
