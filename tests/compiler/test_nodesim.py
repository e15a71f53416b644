"""Node simulation: patterns by mode, measured numbers, cache, worker processes, failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.errors import NodeSimulationError
from compiler.graph import MNGraph
from compiler.nodesim import ResultStore, SimulationSettings, simulate_nodes, workers
from compiler.nodesim import simulate as simulate_module
from compiler.nodesim.measure import Result, measure
from compiler.nodesim.patterns import Expectation, patterns
from compiler.nodesim.probe import DOWNLOAD, node_probe, probe_key, transfer_probe
from compiler.options import Options
from tests.compiler import models
from tests.compiler.planned import planned

CLASSIFIER = models.mlp(40, [30], 32, 5)


def _by_mode(mode: str, graph: MNGraph | None = None, **settings: Any) -> Any:
    return simulate_nodes(graph or planned(CLASSIFIER), SimulationSettings(mode, threads=1, **settings))


def test_bolder_modes_try_more_patterns_and_agree_on_the_common_ones() -> None:
    tables: dict[str, dict[tuple[str, str], Any]] = {}
    for mode in ("fast", "default", "best", "full"):
        record = _by_mode(mode).record
        tables[mode] = {
            (node["node"], f"{p['inputs']} {p['output']}"): p.get("cycles") for node in record["nodes"] for p in
            node["patterns"]
        }
    sizes = [len(table) for table in tables.values()]
    assert sizes == sorted(sizes) and sizes[0] < sizes[1] < sizes[2]
    for table in tables.values():
        assert all(tables["full"][key] == cycles for key, cycles in table.items())


def test_one_node_alone_costs_what_its_program_costs() -> None:
    """Download + Relu + Upload measured as one pattern is the whole program of a graph that is only that."""
    shape = [64, 256]
    model = models.build([helper.make_node("Relu", ["x"], ["y"])], {"x": ("float", shape)}, {"y": ("float", shape)})
    graph = planned(model)
    whole = compile_model(model, Options.resolve({"layout_planner": "legacy"}, {}))
    assert [node.op_type for node in whole.graph.nodes] == ["MNCoreDownload", "Relu", "MNCoreUpload"]
    both = next(p for p in patterns(graph.nodes[0], graph, "best") if p.inputs == ("DRAM",) and p.output == "DRAM")
    assert measure(node_probe(graph, graph.nodes[0], both)).cycles == whole.timing.cycles
    sure = patterns(graph.nodes[0], graph, "fast")
    assert len(sure) == 1 and sure[0].expected is Expectation.CERTAIN
    body = measure(node_probe(graph, graph.nodes[0], sure[0]))
    down = measure(transfer_probe(graph.values["x"], DOWNLOAD))
    assert 0 < body.cycles < down.cycles < whole.timing.cycles
    lws = graph.values["x"].num_lw
    assert body.lm_words == (2 * lws, 2 * lws)


def test_failures_of_bold_patterns_are_listed_and_dropped() -> None:
    costs = _by_mode("full")
    gemms = [node for node in costs.record["nodes"] if node["op_type"] == "Gemm"]
    failed = [p for node in gemms for p in node["patterns"] if "error" in p]
    assert failed and all("LM1" in p["inputs"] and p["expected"] == "bold" for p in failed)
    assert all("first operand in LM0" in p["error"] for p in failed)
    assert all(costs.bodies[node] for node in costs.bodies)


def test_equal_nodes_have_one_key_and_other_layouts_another() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    shape = [8, 16]
    model = models.build(nodes, {"x": ("float", shape)}, {"b": ("float", shape)}, {"a": ("float", shape)})
    graph = planned(model)
    pattern = patterns(graph.nodes[0], graph, "fast")[0]
    keys = [probe_key(node_probe(graph, node, pattern), "chip") for node in graph.nodes]
    assert keys[0] == keys[1]
    wider = planned(models.build(nodes[:1], {"x": ("float", [8, 64])}, {"a": ("float", [8, 64])}))
    assert probe_key(node_probe(wider, wider.nodes[0], pattern), "chip") != keys[0]
    assert probe_key(node_probe(graph, graph.nodes[0], pattern), "other chip") != keys[0]


def test_results_are_kept_and_damaged_ones_measured_again(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    first = _by_mode("default", store=store)
    again = _by_mode("default", store=store)
    assert first.record["measured"] and not first.record["from_cache"]
    assert again.record["from_cache"] == first.record["measured"] and not again.record["measured"]
    assert again.bodies == first.bodies and again.transfers == first.transfers
    damaged = next(path for path in tmp_path.rglob("*") if path.is_file())
    damaged.write_text('{"cycles": 3')
    third = _by_mode("default", store=store)
    assert third.record["measured"] == 1 and third.bodies == first.bodies
    store.put("ab" * 32, Result(error="x"))
    assert store.find("ab" * 32) == Result(error="x")


def test_worker_processes_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = _by_mode("default")
    monkeypatch.setattr(workers, "PATIENCE_SECONDS", 0.0)
    together = simulate_nodes(planned(CLASSIFIER), SimulationSettings("default", threads=2))
    assert together == alone


def test_a_node_without_success_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(probes: list[Any], threads: int, done: Any) -> list[Result]:
        return [Result(error="LayoutConflict: no way") if p.label.startswith("ArgMax") else Result(4) for p in probes]

    monkeypatch.setattr(simulate_module, "measure_all", broken)
    with pytest.raises(NodeSimulationError, match=r"ArgMax\(.*had to succeed.*no way.*ALLOW_UNEXPECTED_FAIL") as caught:
        _by_mode("default")
    assert caught.value.node.startswith("ArgMax(")
    with pytest.raises(NodeSimulationError, match=r"no pattern of ArgMax\(.*no way"):
        _by_mode("default", allow_unexpected=True)


def test_fake_mode_measures_nothing() -> None:
    record = _by_mode("fake").record
    assert record["measured"] == 0 and record["estimated"] > 0
    cycles = {node["op_type"]: node["patterns"][0]["cycles"] for node in record["nodes"]}
    assert cycles["Gemm"] > cycles["Relu"] > 0
