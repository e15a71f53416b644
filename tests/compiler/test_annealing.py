"""Scheduler `auto_recompute_sa`: bits, legality, never worse than spill_opt, determinism, recomputation."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.layers.reference import run_reference
from compiler.nodesim import SimulationSettings, simulate_nodes
from compiler.options import Options
from compiler.schedulers.annealing import AnnealSettings, anneal
from compiler.schedulers.annealing.explore import _moved_orders
from compiler.schedulers.annealing.problem import RECOMPUTE, Problem, build_problem
from compiler.schedulers.annealing.rounds import estimated, initial
from compiler.schedulers.annealing.state import schedule_of
from compiler.schedulers.placement import Schedule
from tests.compiler import machine, models
from tests.compiler.planned import planned

FAST = {"CODEGEN_SA_STEPS": 2000}
SHAPE = [64, 1024]


def diamonds(count: int, shape: list[int] = SHAPE) -> onnx.ModelProto:
    """x -> a -> b, and `count` independent Relus of x that only the outputs read: order and residence are free."""
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    nodes += [helper.make_node("Relu", ["x" if k % 2 else "a"], [f"y{k}"]) for k in range(count)]
    nodes.append(helper.make_node("Relu", ["a"], ["z"]))
    outputs = {name: ("float", shape) for name in ("b", "z", *(f"y{k}" for k in range(count)))}
    return models.build(nodes, {"x": ("float", shape)}, outputs, {"a": ("float", shape)})


def _problem(model: onnx.ModelProto, budget: float = 1.0) -> Problem:
    graph = planned(model)
    return build_problem(graph, simulate_nodes(graph, SimulationSettings("fake")), budget)


def _options(scheduler: str, **options: Any) -> Options:
    return Options.resolve({"scheduler": scheduler, "envs": FAST, "sa_expected_run_iters": 2, **options}, {})


def _outputs(compiled: Any, feeds: dict[str, Any]) -> dict[str, Any]:
    got = machine.run(compiled, feeds)
    raw = run_reference(compiled.graph, feeds)
    made = {name for node in compiled.graph.nodes for name in node.outputs}
    for name in got:
        stored = name if name in made else next(n for n in raw if n.startswith(f"{name}_Upload"))
        np.testing.assert_array_equal(got[name], raw[stored], err_msg=name)
    return got


@pytest.mark.parametrize("budget", [1.0, 0.15])
def test_annealed_programs_compute_the_same_bits_in_no_more_time(budget: float) -> None:
    model = diamonds(3)
    feeds = {"x": np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)}
    results, cycles = {}, {}
    for scheduler in ("spill_opt", "auto_recompute_sa"):
        compiled = compile_model(model, _options(scheduler, sram_budget=budget))
        results[scheduler] = _outputs(compiled, feeds)
        cycles[scheduler] = compiled.timing.cycles
    assert cycles["auto_recompute_sa"] <= cycles["spill_opt"]
    for name, raw in results["spill_opt"].items():
        np.testing.assert_array_equal(results["auto_recompute_sa"][name], raw)


def test_same_result_whatever_the_threads() -> None:
    """Local memory that holds one value at a time: there is something to find, and many ways to it."""
    problem = replace(_problem(diamonds(6)), capacity=150)
    runs = [anneal(problem, AnnealSettings(300, 6, threads)) for threads in (1, 2, 5)]
    assert runs[0] == runs[1] == runs[2]
    assert len(runs[0]) > 2 and runs[0][0].estimate < initial(problem).estimate


def test_rounds_until_nothing_gets_better_end() -> None:
    assert anneal(_problem(models.mlp(40, [30], 32, 5)), AnnealSettings(50, 0))


def test_every_reachable_state_is_a_legal_schedule_of_the_same_values() -> None:
    """Random orders, policies and memories: the graph stays sound and the reference gives the same outputs."""
    model = diamonds(2, [16, 64])
    problem = _problem(model)
    feeds = {"x": np.random.default_rng(2).standard_normal([16, 64]).astype(np.float32)}
    chooser = random.Random(3)
    expected = _reference(schedule_of(initial(problem), problem, 1.0), feeds)
    for _ in range(12):
        order = initial(problem).order
        for _ in range(5):
            order = chooser.choice(list(_moved_orders(order, problem.reads_of_nodes())))
        policy = [0] * len(problem.values)
        for value in map(int, problem.free_policy):
            policy[value] = chooser.choice([0, 1, RECOMPUTE] if problem.recomputable[value] else [0, 1])
        home = tuple(chooser.randrange(2) for _ in problem.values)
        state = estimated(problem, order, tuple(policy), home)
        schedule = schedule_of(state, problem, 1.0)
        schedule.graph.verify()
        got = _reference(schedule, feeds)
        for name, raw in expected.items():
            np.testing.assert_array_equal(got[name], raw)


def _reference(schedule: Schedule, feeds: dict[str, Any]) -> dict[str, Any]:
    raw = run_reference(schedule.graph, feeds)
    return {name: raw[stored] for name, stored in schedule.outputs.items()}


def test_recomputation_duplicates_the_node_and_keeps_the_bits() -> None:
    problem = _problem(diamonds(2, [16, 64]))
    start = initial(problem)
    a = problem.values.index("a")
    state = estimated(problem, start.order, tuple(RECOMPUTE * (v == a) for v in range(len(start.policy))), start.home)
    schedule = schedule_of(state, problem, 1.0)
    relus = [node for node in schedule.graph.nodes if node.op_type == "Relu"]
    readers = sum("a" in node.used for node in problem.nodes)
    assert len(relus) == len(problem.nodes) + readers - 1
    assert sum("Recompute" in node.outputs[0] for node in relus) == readers - 1


def test_beam_search_is_no_worse_and_builds_neighbours() -> None:
    model = models.mlp(40, [30], 32, 5)
    plain = compile_model(model, _options("auto_recompute_sa"))
    envs = {**FAST, "CODEGEN_SCHEDULE_PP_BEAM_WIDTH": 3, "CODEGEN_SCHEDULE_PP_BEAM_MAX_TURN": 2}
    wide = compile_model(model, _options("auto_recompute_sa", envs=envs))
    assert wide.timing.cycles <= plain.timing.cycles
    assert any(c["scheduler"].endswith("beam") for c in wide.report["candidates"])
    assert wide.timing.cycles == min(c["cycles"] for c in wide.report["candidates"])
    feeds = {"x": np.random.default_rng(4).random((40, 30), dtype=np.float32), "t": np.arange(40) % 5}
    _outputs(wide, feeds)
