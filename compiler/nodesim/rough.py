"""Mode `fake`: what a node costs by counting, without compiling it.

A PE moves one long word of each memory per cycle (four a step); a transfer needs the time of its DRAM image at the
DRAM bandwidth after a fixed start; a matrix product streams its weights and multiplies at the peak rate.
"""

from __future__ import annotations

from compiler.graph import MNGraph, MNNode, MNValue
from compiler.layers.registry import layer_of
from compiler.layout.image import DramImage
from compiler.nodesim.measure import Result
from compiler.nodesim.probe import IDENTITY, Probe
from compiler.report.work import node_flops, node_peak

#: Cycles before the first long word of a transfer arrives (timing.md 5.2).
START_CYCLES = 200


def rough(probe: Probe) -> Result:
    """Cycles of a probe by counting.  Memory is that of the values alone."""
    graph = probe.graph
    if probe.transfer == IDENTITY:
        return Result(_lws(graph.values["i0"]))
    if probe.transfer:
        return Result(_transfer_cycles(graph.values["i0"]))
    node = graph.nodes[-1]
    if layer_of(node).alias and not layer_of(node).in_place:
        return Result(0)
    return Result(_node_cycles(node, graph), _words(node, graph, probe))


def _node_cycles(node: MNNode, graph: MNGraph) -> int:
    from hw.spec import default_spec

    spec = default_spec()
    streamed = layer_of(node).streamed
    cycles = round(node_flops(node, graph) / node_peak(node, graph, spec))
    for position, name in enumerate(node.inputs):
        if name:
            value = graph.values[name]
            cycles += _transfer_cycles(value) if position in streamed else _lws(value)
    return cycles + sum(_lws(graph.values[name]) for name in node.outputs)


def _words(node: MNNode, graph: MNGraph, probe: Probe) -> tuple[int, int]:
    words = [0, 0]
    for name, place in zip(node.inputs, probe.pattern.inputs, strict=True):
        if place in ("LM0", "LM1"):
            words[place == "LM1"] += 2 * _lws(graph.values[name])
    words[probe.pattern.inputs[:1] != ("LM1",)] += sum(2 * _lws(graph.values[name]) for name in node.outputs)
    return words[0], words[1]


def _lws(value: MNValue) -> int:
    return value.num_lw if value.layout is not None else 0


def _transfer_cycles(value: MNValue) -> int:
    from hw.spec import default_spec

    if value.layout is None:
        return 0
    return START_CYCLES + round(DramImage(value.layout, value.dtype).lws_per_group / default_spec().dram_lw_per_cycle)
