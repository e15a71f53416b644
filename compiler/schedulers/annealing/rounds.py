"""Rounds of annealing: each from its own seed, in threads, with the same result whatever their number."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from compiler.schedulers.annealing.problem import Problem
from compiler.schedulers.annealing.state import State

#: Rounds that are compared at a time when their number is left open: fixed, so that threads do not matter.
_BATCH = 4
_MOST_ROUNDS = 64
_SEED = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class AnnealSettings:
    """steps: of each round (`CODEGEN_SA_STEPS`).  rounds: `sa_expected_run_iters`; 0 = until a batch of rounds finds
    nothing better.  threads: `CODEGEN_NUM_SA_THREADS`.
    """

    steps: int
    rounds: int = 0
    threads: int = 1
    seed: int = 1


def anneal(problem: Problem, settings: AnnealSettings, done: Callable[[int], None] = lambda n: None) -> list[State]:
    """The start and the result of every round, the best first, each once.  `done(n)`: rounds finished so far."""
    start = initial(problem)
    found = {start.rank: start}
    if not problem.nodes:
        return [start]
    number = 0
    with ThreadPoolExecutor(max(1, settings.threads)) as pool:
        while number < (settings.rounds or _MOST_ROUNDS):
            best = min(found)
            count = min(_BATCH, (settings.rounds or _MOST_ROUNDS) - number)
            seeds = [_seed(settings.seed, number + k) for k in range(count)]
            for state in pool.map(lambda seed: _run(problem, start, settings.steps, seed), seeds):
                found[state.rank] = state
            number += count
            done(number)
            if not settings.rounds and min(found)[0] >= best[0]:
                break
    return [found[rank] for rank in sorted(found)]


def initial(problem: Problem) -> State:
    """The graph's own order with everything kept."""
    values = len(problem.values)
    return estimated(problem, tuple(range(len(problem.nodes))), (0,) * values, (0,) * values)


def estimated(problem: Problem, order: tuple[int, ...], policy: tuple[int, ...], home: tuple[int, ...]) -> State:
    """A state with its estimate."""
    return _run(problem, State(0.0, order, policy, home), 0, 1)


def _seed(base: int, number: int) -> int:
    return (_SEED * (base + number) & (1 << 62) - 1) | 1


def _run(problem: Problem, start: State, steps: int, seed: int) -> State:
    """The best state found from `start`; with no steps, the start itself."""
    from compiler.schedulers.annealing.native.kernel import anneal_once

    if not problem.nodes:
        return start
    order, policy, home = (np.array(part, np.int64) for part in (start.order, start.policy, start.home))
    free = (problem.recomputable, problem.free_policy, problem.free_home)
    cost = anneal_once(order, policy, home, *problem.arrays, *free, steps, seed)
    return State(float(cost), *(tuple(int(item) for item in part) for part in (order, policy, home)))
