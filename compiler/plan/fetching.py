"""Inputs that are downloaded in a form of their own come before the product that their reader waits for.

A streamed product that adds partial sums delivers in DRAM, and what follows waits for two transfers.  Downloads queue
behind them; placed before the product they arrive while it works, and what prepares them is done by then.
"""

from __future__ import annotations

from compiler.graph import MNGraph, MNNode
from compiler.layers.registry import layer_of

_FIRST = frozenset({"MNCoreBankDownload", "MNCoreDealtDownload"})
_AFTER = frozenset({"MNCoreLayoutSwitch", "MNCoreRefillPadding"})


def fetch_early(graph: MNGraph) -> MNGraph:
    """The same graph with such downloads, and the nodes that prepare only what they bring, moved forward."""
    ready = {*graph.inputs, *graph.params}
    nodes: list[MNNode] = []
    place: int | None = None
    for node in graph.nodes:
        fetches = node.op_type in _FIRST or (node.op_type in _AFTER and node.inputs[0] in ready - {*graph.inputs})
        if fetches and set(node.used) <= ready:
            ready |= set(node.outputs)
            if place is not None:
                nodes.insert(place, node)
                place += 1
                continue
        nodes.append(node)
        if "banks" in node.attrs and layer_of(node).delivers_in_dram(node, graph):
            place = len(nodes) - 1
    graph.nodes = nodes
    return graph
