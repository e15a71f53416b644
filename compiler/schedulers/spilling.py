"""Placing values so that they fit: what finds no room goes through DRAM, and the placement starts again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from compiler.errors import LocalMemoryFull
from compiler.graph import Location, MNGraph
from compiler.plan.addresses import plan_addresses
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
        try:
            plan_addresses(schedule.graph.copy(), sram_budget)
        except LocalMemoryFull as full:
            origins = {schedule.origin.get(name, name) for name in full.live}
            candidates = sorted(
                origins - through_dram, key=lambda name: (-_weight(graph, name) / max(1, uses[name]), name)
            )
            if not candidates:
                raise
            through_dram.add(candidates[0])
        else:
            return schedule


def _weight(graph: MNGraph, name: str) -> int:
    value = graph.values[name]
    return value.num_lw if value.layout is not None else 0
