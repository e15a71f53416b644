"""A state of the annealing, and the schedule it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from compiler.graph import Location, MNGraph, MNNode
from compiler.schedulers.annealing.problem import RECOMPUTE, SPILL, Problem
from compiler.schedulers.placement import Schedule
from compiler.schedulers.spilling import place_within


@dataclass(frozen=True)
class State:
    """order: node numbers.  policy, home: per value, KEEP, SPILL or RECOMPUTE, and 0 or 1 for LM0 or LM1.

    States are ordered by estimate; equal estimates by their numbers, so that the choice is the same everywhere.
    """

    estimate: float
    order: tuple[int, ...]
    policy: tuple[int, ...]
    home: tuple[int, ...]

    @property
    def rank(self) -> tuple[float, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Sort key."""
        return self.estimate, self.order, self.policy, self.home


def schedule_of(state: State, problem: Problem, sram_budget: float) -> Schedule:
    """The placed graph of a state.  Values that find no room after all go through DRAM.  Raises LocalMemoryFull."""
    graph = problem.graph.copy()
    constants = [node for node in graph.nodes if node.op_type == "Constant"]
    movable = [node for node in graph.nodes if node.op_type != "Constant"]
    graph.nodes = constants + [movable[number] for number in state.order]
    chosen = dict(zip(problem.values, state.policy, strict=True))
    anew = {name for name, policy in chosen.items() if policy == RECOMPUTE}
    recompute(graph, anew)
    homes = dict(zip(problem.values, state.home, strict=True))

    def home(name: str) -> Location:
        return Location.LM1 if homes.get(name) == 1 else Location.LM0

    spilled = {name for name, policy in chosen.items() if policy == SPILL}
    return place_within(graph, sram_budget, spilled, home)


def recompute(graph: MNGraph, names: Iterable[str]) -> None:
    """Give every reader of these values but the first a result of its own, made just before it."""
    wanted = set(names)
    for name in [name for node in reversed(graph.nodes) for name in node.outputs if name in wanted]:
        maker = next(node for node in graph.nodes if name in node.outputs)
        readers = [node for node in graph.nodes if name in node.used]
        for reader in readers[1:]:
            again = graph.add_value(replace(graph.values[name], name=graph.fresh_name(name, "Recompute")))
            copy = MNNode(maker.op_type, again.name, list(maker.inputs), [again.name], dict(maker.attrs))
            at = next(position for position, node in enumerate(graph.nodes) if node is reader)
            graph.nodes.insert(at, copy)
            reader.inputs = [again.name if given == name else given for given in reader.inputs]
