"""The schedulers by name: how long values may stay in local memory (seed 4.2.2.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from compiler.errors import LocalMemoryFull
from compiler.graph import MNGraph
from compiler.plan.addresses import plan_addresses
from compiler.schedulers.placement import Schedule, place_values

FOREVER = 1 << 30


def always_from_dram(graph: MNGraph, sram_budget: float) -> Schedule:
    """Every operator downloads its inputs and uploads its outputs."""
    return place_values(graph, lambda name: 0)


def reuse_consecutive(graph: MNGraph, sram_budget: float) -> Schedule:
    """The same, but what the previous operator left in local memory is used from there."""
    return place_values(graph, lambda name: 1)


def spill_opt(graph: MNGraph, sram_budget: float) -> Schedule:
    """Values stay in local memory until it is full.

    When a value finds no room, the one in its way that needs the most room for the fewest uses goes through DRAM, and
    the placement starts again.  Raises LocalMemoryFull when nothing is left to spill.
    """
    spilled: set[str] = set()
    uses = Counter(name for node in graph.nodes for name in set(node.used))
    while True:
        schedule = place_values(graph, lambda name: 0 if name in spilled else FOREVER)
        try:
            plan_addresses(schedule.graph.copy(), sram_budget)
        except LocalMemoryFull as full:
            origins = {schedule.origin.get(name, name) for name in full.live}
            candidates = sorted(origins - spilled, key=lambda name: (-_weight(graph, name) / max(1, uses[name]), name))
            if not candidates:
                raise
            spilled.add(candidates[0])
        else:
            return schedule


def _weight(graph: MNGraph, name: str) -> int:
    value = graph.values[name]
    return value.num_lw if value.layout is not None else 0


SCHEDULERS: dict[str, Callable[[MNGraph, float], Schedule]] = {
    "always_from_dram": always_from_dram,
    "reuse_consecutive": reuse_consecutive,
    "spill_opt": spill_opt,
}
