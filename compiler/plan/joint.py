"""Transfers of small parameters are joined: one MV brings several, one takes their new contents back.

An MV costs its start-up whatever it carries (timing.md 5.2), and a model has many small parameters: biases, scales,
their optimizer state.  Those that are downloaded once, and use L2B in one way, come with the first of them and stay in
local memory until they are needed; updated ones go back together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.emit.transfer import L2BM_HALF, START_LW, Route
from compiler.graph import MNGraph, MNNode
from compiler.layers.registry import layer_of
from compiler.layout.l2b import L2bUse
from compiler.schedulers.placement import Schedule

#: Long words of each local memory that values which came early may take: an eighth.
WAITING_LW = 256


def join_small_transfers(schedule: Schedule, updates: Mapping[str, str]) -> Schedule:
    """The schedule with joint transfers; the same object where there is nothing to join.

    updates: parameter -> output that holds its new contents.
    """
    graph = schedule.graph.copy()
    groups = _groups(graph)
    if not groups:
        return schedule
    for group in groups:
        group.sort(key=lambda node: node.inputs[0] not in updates)
        back = _uploads(graph, [schedule.outputs.get(updates.get(node.inputs[0], ""), "") for node in group])
        _join(graph, group, 0)
        if len(back) > 1:
            _join(graph, back, -1)
    return replace(schedule, graph=graph)


def _uploads(graph: MNGraph, stored: Sequence[str]) -> list[MNNode]:
    """The uploads of these values, in this order, but those that a node reads again."""
    read = {name for node in graph.nodes for name in node.used}
    makers = {node.outputs[0]: node for node in graph.nodes if node.op_type == "MNCoreUpload"}
    return [makers[name] for name in stored if name in makers and name not in read]


def _groups(graph: MNGraph) -> list[list[MNNode]]:
    """Downloads that can be one, in program order."""
    count = Counter(name for node in graph.nodes for name in node.used)
    claimed = {
        node.inputs[k] for node in graph.nodes if node.op_type != "Constant" for k in layer_of(node).adjacent(node)
    }
    by_use: dict[L2bUse, list[MNNode]] = defaultdict(list)
    waiting = 0
    for node in graph.nodes:
        name = node.inputs[0] if node.op_type == "MNCoreDownload" else ""
        if name not in graph.params or name in claimed or count[name] > 1:
            continue
        layout = graph.values[name].layout
        assert layout is not None
        route = Route.of(layout)
        small = route.l2b is not L2bUse.SPLIT and layout.num_slices == 1 and _size([node], graph) <= START_LW
        group = by_use[route.l2b]
        if small and waiting + route.num_lw <= WAITING_LW and _size([*group, node], graph) <= L2BM_HALF:
            group.append(node)
            waiting += route.num_lw
    return [group for group in by_use.values() if len(group) > 1]


def _size(nodes: Sequence[MNNode], graph: MNGraph) -> int:
    """Long words of an L2B that the downloads bring."""
    layouts = [graph.values[node.inputs[0]].layout for node in nodes]
    routes = [Route.of(layout) for layout in layouts if layout is not None]
    return sum(route.l2_count(route.num_lw) for route in routes)


def _join(graph: MNGraph, nodes: Sequence[MNNode], place: int) -> None:
    """Put one node for all where the first (place 0) or the last (place -1) of them is in the program."""
    members = {id(node) for node in nodes}
    positions = [k for k, node in enumerate(graph.nodes) if id(node) in members]
    at = positions[place]
    joined = MNNode(nodes[0].op_type, nodes[0].name, [n.inputs[0] for n in nodes], [n.outputs[0] for n in nodes])
    graph.nodes = [
        joined if k == at else node for k, node in enumerate(graph.nodes) if k == at or id(node) not in members
    ]
