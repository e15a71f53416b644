"""Areas of memory by name: what a caller loaded before the run, and what debug lines read and write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hw.lockstep.stores import Store
from hw.program import Debug


@dataclass(frozen=True, slots=True)
class Area:
    """`count` units from `start` on: 32-bit words of LM and GRF, cycles of T, long words of L1BM, L2BM, PDM and DRAM.

    place: group, L2B in the group, L1B, MAB, PE as far as the store has them; None or missing means all.
    """

    store: Store
    start: int
    count: int
    place: tuple[int | None, ...] = ()

    def full_place(self) -> tuple[int | None, ...]:
        """One entry for each level of the store."""
        levels = len(self.store.levels)
        return (self.place + (None,) * levels)[:levels]


@dataclass(frozen=True, slots=True)
class DebugAreas:
    """What a debug line touches; `write` for `d set`."""

    write: bool
    areas: tuple[Area, ...]


DebugReader = Callable[[Debug], DebugAreas | None]
"""Tells what a debug line touches, None if nothing (this room does not read their text)."""


def loads(lines: Iterable[object], reader: DebugReader | None) -> list[Area]:
    """The areas that the debug lines of a program set."""
    found: list[Area] = []
    if reader is not None:
        for line in lines:
            touched = reader(line) if isinstance(line, Debug) else None
            if touched is not None and touched.write:
                found += touched.areas
    return found
