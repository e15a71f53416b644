"""Placing values so that they fit: what finds no room goes through DRAM, and the placement starts again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from compiler.graph import Location, MNGraph
from compiler.plan.addresses import find_spills
from compiler.schedulers.placement import FOREVER, Schedule, in_lm0, place_values


def place_within(
    graph: MNGraph,
    sram_budget: float,
    spilled: Iterable[str] = (),
    home: Callable[[str], Location] = in_lm0,
) -> Schedule:
    """Values stay in local memory, but those in `spilled` and those that must make room go through DRAM.

    When a value finds no room, the one in its way that needs the most room for the fewest uses is spilled.  Raises
    LocalMemoryFull when nothing is left to spill.
    """
    through_dram = set(spilled)
    uses = Counter(name for node in graph.nodes for name in set(node.used))
    while True:
        schedule = place_values(graph, lambda name: 0 if name in through_dram else FOREVER, home)
        origin = schedule.origin

        def rank(name: str, origin: dict[str, str] = origin) -> float:
            source = origin.get(name, name)
            return -1 if source in through_dram else _weight(graph, source) / max(1, uses[source])

        evicted = {origin.get(name, name) for name in find_spills(schedule.graph, sram_budget, rank)}
        if not evicted:
            return schedule
        through_dram.update(evicted)


def _weight(graph: MNGraph, name: str) -> int:
    value = graph.values[name]
    return value.num_lw if value.layout is not None else 0
