"""Local memory over time: long words per PE that values of the graph hold while each layer runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.graph import Location, MNGraph
from hw.events import Counter, RegionTime

_BOARD, _GROUP = "board 0", "local memory"


def occupancy_counters(graph: MNGraph, regions: Sequence[RegionTime]) -> list[Counter]:
    """One counter per local memory for a trace; layers are found among `regions` by name, others are skipped.

    A value counts from the layer that makes it to the last one that reads it or an alias of it, as in the address
    planner; scratch of a layer is not a value and does not count.
    """
    held = occupancy(graph)
    at = {str(node): position for position, node in enumerate(graph.nodes)}
    steps = [(region.start, at[region.name]) for region in regions if region.name in at and region.cycles]
    if not steps:
        return []
    cycles = np.array([*(start for start, _ in steps), regions[-1].end], dtype=np.int64)
    return [
        Counter(
            _BOARD,
            _GROUP,
            f"{location} occupancy",
            "LW",
            cycles,
            np.array([*(held[location][position] for _, position in steps), 0], dtype=np.float64),
        )
        for location in (Location.LM0, Location.LM1)
    ]


def occupancy(graph: MNGraph) -> dict[Location, list[int]]:
    """Long words per PE in each local memory while each node runs."""
    held = {location: [0] * len(graph.nodes) for location in (Location.LM0, Location.LM1)}
    made = {name: position for position, node in enumerate(graph.nodes) for name in node.outputs}
    last: dict[str, int] = {}
    for position, node in enumerate(graph.nodes):
        for name in (*node.used, *node.outputs):
            last[graph.owner(name).name] = position
    for name, first in made.items():
        value = graph.values[name]
        if value.loc in held and value.parent is None:
            for position in range(first, last[name] + 1):
                held[value.loc][position] += value.num_lw
    return held
