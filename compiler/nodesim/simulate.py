"""`simulate_nodes`: all patterns of all nodes of a planned graph, each probe measured once and kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from compiler.errors import NodeSimulationError
from compiler.graph import Location, MNGraph, MNNode
from compiler.layers.registry import layer_of
from compiler.nodesim.costs import Bodies, NodeCosts, operand_places
from compiler.nodesim.measure import Result, describe
from compiler.nodesim.patterns import Expectation, Pattern, patterns
from compiler.nodesim.probe import DOWNLOAD, IDENTITY, UPLOAD, Probe, node_probe, probe_key, transfer_probe
from compiler.nodesim.rough import rough
from compiler.nodesim.store import ResultStore
from compiler.nodesim.workers import measure_all

FAKE = "fake"
Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class SimulationSettings:
    """mode: fast, default, best, full or fake.  threads: worker processes at most; -1 = one per processor.

    allow_unexpected: whether a pattern that must succeed may fail (`CODEGEN_NODE_SIM_ALLOW_UNEXPECTED_FAIL`).
    """

    mode: str
    threads: int = -1
    allow_unexpected: bool = False
    store: ResultStore | None = None
    progress: Progress = _silent


def simulate_nodes(graph: MNGraph, settings: SimulationSettings) -> NodeCosts:
    """Cycles and memory of every node and transfer of a graph whose layouts are settled.

    Raises NodeSimulationError for a node of which no pattern succeeds, and for a pattern that had to succeed.
    """
    tried = "fast" if settings.mode == FAKE else settings.mode
    jobs = [(node, p) for node in graph.nodes if node.op_type != "Constant" for p in patterns(node, graph, tried)]
    moves = [(op_type, name) for name in _movable(graph) for op_type in (DOWNLOAD, UPLOAD, IDENTITY)]
    probes = [node_probe(graph, node, pattern) for node, pattern in jobs]
    probes += [transfer_probe(graph.values[name], op_type) for op_type, name in moves]
    results, counts = _results(probes, settings)
    bodies, layers = _bodies(jobs, results, settings)
    transfers: dict[tuple[str, str], int] = {}
    for move, result in zip(moves, results[len(jobs) :], strict=True):
        if result.error:
            raise NodeSimulationError(f"node simulation: {move[0]} of value {move[1]!r}: {result.error}", move[1])
        transfers[move] = result.cycles
    record = {
        "mode": settings.mode,
        "chip_spec": _chip(),
        **counts,
        "nodes": layers,
        "transfers": [
            {"op_type": op_type, "value": name, "cycles": cycles} for (op_type, name), cycles in transfers.items()
        ],
    }
    return NodeCosts(bodies, transfers, record)


def _chip() -> str:
    from hw.spec import default_spec

    return default_spec().digest


def _movable(graph: MNGraph) -> Iterator[str]:
    """Values that may lie in local memory: results, and what nodes read from there."""
    wanted: dict[str, None] = {}
    for node in graph.nodes:
        if node.op_type == "Constant":
            continue
        layer = layer_of(node)
        for position, name in enumerate(node.inputs):
            if name and position not in layer.streamed and graph.values[name].loc is not Location.IMM:
                wanted[name] = None
        if not layer.delivers_in_dram(node, graph):
            wanted.update(dict.fromkeys(node.outputs))
    return iter(wanted)


def _results(probes: list[Probe], settings: SimulationSettings) -> tuple[list[Result], dict[str, int]]:
    """Results in order; equal probes are measured once, stored ones not at all."""
    if settings.mode == FAKE:
        return [rough(probe) for probe in probes], {"measured": 0, "from_cache": 0, "estimated": len(probes)}
    chip = _chip()
    keys = [probe_key(probe, chip) for probe in probes]
    unique = dict(zip(keys, probes, strict=True))
    known: dict[str, Result] = {}
    if settings.store is not None:
        for key in unique:
            stored = settings.store.find(key)
            if stored is not None:
                known[key] = stored
    missing = [key for key in unique if key not in known]
    threads = settings.threads if settings.threads > 0 else os.cpu_count() or 1
    fresh = measure_all([unique[key] for key in missing], threads, lambda n: settings.progress(n, len(missing)))
    for key, result in zip(missing, fresh, strict=True):
        known[key] = result
        if settings.store is not None:
            settings.store.put(key, result)
    counts = {"measured": len(missing), "from_cache": len(unique) - len(missing), "estimated": 0}
    return [known[key] for key in keys], counts


def _bodies(
    jobs: list[tuple[MNNode, Pattern]], results: list[Result], settings: SimulationSettings
) -> tuple[dict[str, Bodies], list[dict[str, Any]]]:
    bodies: dict[str, dict[tuple[str, ...], int]] = {}
    layers: dict[str, dict[str, Any]] = {}
    for (node, pattern), result in zip(jobs, results, strict=False):
        if result.error and pattern.expected is Expectation.CERTAIN and not settings.allow_unexpected:
            raise NodeSimulationError(
                f"node simulation: {node} failed under pattern {pattern}, which had to succeed: {result.error} "
                "(CODEGEN_NODE_SIM_ALLOW_UNEXPECTED_FAIL=1 goes on with the other patterns)",
                str(node),
            )
        layer = layers.setdefault(node.outputs[0], {"node": str(node), "op_type": node.op_type, "patterns": []})
        layer["patterns"].append({**describe(pattern), **result.to_json()})
        known = bodies.setdefault(node.outputs[0], {})
        places = operand_places(pattern.inputs, pattern.output)
        if not result.error and places is not None:
            known.setdefault(places, result.cycles)
    for name, known in bodies.items():
        if not known:
            reasons = "; ".join(dict.fromkeys(p["error"] for p in layers[name]["patterns"] if "error" in p))
            raise NodeSimulationError(
                f"node simulation: no pattern of {layers[name]['node']} succeeds: {reasons}", layers[name]["node"]
            )
    return dict(bodies), list(layers.values())
