"""The PE operands of an item."""

from __future__ import annotations

from hw.program import Compute, Dest, Item, L2Move, PeLoad, PeStore, Source


def sources_of(item: Item) -> tuple[Source, ...]:
    """What it reads."""
    if isinstance(item, Compute):
        return item.sources
    return (item.source,) if isinstance(item, PeStore) else ()


def dests_of(item: Item) -> tuple[Dest, ...]:
    """What it writes."""
    return () if isinstance(item, PeStore | L2Move) else item.dests


def operands_of(item: Item) -> tuple[Source | Dest, ...]:
    """Both."""
    if isinstance(item, Compute):
        return (*item.sources, *item.dests)
    if isinstance(item, PeLoad):
        return item.dests
    return (item.source,) if isinstance(item, PeStore) else ()
