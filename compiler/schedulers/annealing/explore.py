"""From annealing to schedules worth building, and a beam search around the best of them.

Annealing minimises an estimate that adds up layers; packing overlaps them, so the order of two independent layers can
matter although the estimate says it does not.  The beam search (`CODEGEN_SCHEDULE_PP_BEAM_*`) therefore builds
neighbours of the best states and compares them by the time model: width states survive a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from compiler.errors import CompilerError
from compiler.graph import MNGraph
from compiler.nodesim.costs import NodeCosts
from compiler.phases import Phases
from compiler.schedulers.annealing.problem import RECOMPUTE, build_problem
from compiler.schedulers.annealing.rounds import AnnealSettings, anneal, estimated
from compiler.schedulers.annealing.state import State, schedule_of
from compiler.schedulers.placement import Schedule

if TYPE_CHECKING:
    from compiler.options import Options

#: Annealed states that are built where no beam width says how many.
_FEW = 2
_DEFAULT_TURNS = 4
_DEFAULT_PRUNE = 2
#: Neighbours whose estimate is worse than the best by more than this factor are not built.
_WORSE = 1.1


class Exploration:
    """Yields schedules; whoever builds one tells how many cycles it has, before asking for the next."""

    def __init__(self, graph: MNGraph, costs: NodeCosts, options: Options, phases: Phases) -> None:
        self._problem = build_problem(graph, costs, options["sram_budget"])
        self._options = options
        self._phases = phases
        self._measured: dict[State, int] = {}
        self._current: State | None = None

    def tell(self, cycles: int) -> None:
        """Cycles of the schedule yielded last, if it could be built."""
        assert self._current is not None
        self._measured[self._current] = cycles

    def annealed(self) -> Iterator[Schedule]:
        """The best few states of all rounds."""
        options = self._options
        rounds = options["sa_expected_run_iters"]
        settings = AnnealSettings(options["CODEGEN_SA_STEPS"], rounds, options["CODEGEN_NUM_SA_THREADS"])
        with self._phases("annealing"):
            states = anneal(self._problem, settings, lambda n: self._phases.progress(n, rounds))
        yield from self._schedules(states[: max(_FEW, self._width)])

    def beam(self, known: Callable[[Schedule], bool]) -> Iterator[Schedule]:
        """Neighbours of the best states, turn by turn, until nothing gets better.  known: built before."""
        if not self._width or not self._measured:
            return
        turns = self._given("CODEGEN_SCHEDULE_PP_BEAM_MAX_TURN", _DEFAULT_TURNS)
        prune = self._given("CODEGEN_SCHEDULE_PP_BEAM_TURN_PRUNE_LIMIT", _DEFAULT_PRUNE)
        tried = set(self._measured)
        turn = idle = 0
        while (turns < 0 or turn < turns) and idle < max(1, prune):
            before = min(self._measured.values())
            with self._phases("beam search"):
                best = sorted(self._measured, key=lambda state: (self._measured[state], state.rank))[: self._width]
                near = {n for state in best for n in self._neighbours(state)} - tried
                limit = _WORSE * min(state.estimate for state in self._measured)
                fresh = sorted((n for n in near if n.estimate <= limit), key=lambda n: n.rank)
            built = 0
            for state in fresh:
                tried.add(state)
                for schedule in self._schedules([state]):
                    if not known(schedule):
                        built += 1
                        yield schedule
                if built == self._width:
                    break
            if not built:
                return
            turn += 1
            idle = 0 if min(self._measured.values()) < before else idle + 1

    @property
    def _width(self) -> int:
        return self._given("CODEGEN_SCHEDULE_PP_BEAM_WIDTH", 0)

    def _given(self, name: str, default: int) -> int:
        value = self._options[name]
        return default if value is None else int(value)

    def _schedules(self, states: list[State]) -> Iterator[Schedule]:
        for state in states:
            self._current = state
            try:
                schedule = schedule_of(state, self._problem, self._options["sram_budget"])
            except CompilerError:
                continue  # a state of which the estimate thought too well
            yield schedule

    def _neighbours(self, state: State) -> Iterator[State]:
        """States one decision away: a node at another place, another policy or another memory of a value."""
        problem = self._problem
        for order in _moved_orders(state.order, problem.reads_of_nodes()):
            yield estimated(problem, order, state.policy, state.home)
        for value in map(int, problem.free_policy):
            for policy in range(3):
                if policy != state.policy[value] and (policy != RECOMPUTE or problem.recomputable[value]):
                    yield estimated(problem, state.order, _with(state.policy, value, policy), state.home)
        for value in map(int, problem.free_home):
            yield estimated(problem, state.order, state.policy, _with(state.home, value, 1 - state.home[value]))


def _with(items: tuple[int, ...], index: int, item: int) -> tuple[int, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _moved_orders(order: tuple[int, ...], sources: list[set[int]]) -> Iterator[tuple[int, ...]]:
    """Every order in which one node stands elsewhere, none before what it reads.  sources: per node, who makes that."""
    for at, node in enumerate(order):
        low = max((order.index(source) + 1 for source in sources[node]), default=0)
        high = min((k - 1 for k in range(at + 1, len(order)) if node in sources[order[k]]), default=len(order) - 1)
        rest = order[:at] + order[at + 1 :]
        for target in range(low, high + 1):
            if target != at:
                yield (*rest[:target], node, *rest[target:])
