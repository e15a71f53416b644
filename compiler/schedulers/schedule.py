"""The schedulers by name: how long values may stay in local memory (seed 4.2.2.4)."""

from __future__ import annotations

from collections.abc import Callable

from compiler.graph import MNGraph
from compiler.schedulers.placement import Schedule, place_values
from compiler.schedulers.spilling import place_within


def always_from_dram(graph: MNGraph, sram_budget: float) -> Schedule:
    """Every operator downloads its inputs and uploads its outputs."""
    return place_values(graph, lambda name: 0)


def reuse_consecutive(graph: MNGraph, sram_budget: float) -> Schedule:
    """The same, but what the previous operator left in local memory is used from there."""
    return place_values(graph, lambda name: 1)


def spill_opt(graph: MNGraph, sram_budget: float) -> Schedule:
    """Values stay in local memory until it is full.  Raises LocalMemoryFull when nothing is left to spill."""
    return place_within(graph, sram_budget)


SCHEDULERS: dict[str, Callable[[MNGraph, float], Schedule]] = {
    "always_from_dram": always_from_dram,
    "reuse_consecutive": reuse_consecutive,
    "spill_opt": spill_opt,
}
