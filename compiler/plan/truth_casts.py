"""Comparisons whose results are only converted to single precision give 1.0 or 0.0 themselves (attribute `true`)."""

from __future__ import annotations

from compiler.graph import MNGraph, MNType
from compiler.layers.elementwise import COMPARISONS, TRUE


def fold_truth_casts(graph: MNGraph) -> None:
    """Drop the Cast nodes to Float that are the only readers of a comparison, once element types are settled."""
    makers = {
        node.outputs[0]: node
        for node in graph.nodes
        if node.op_type in COMPARISONS and graph.values[node.used[0]].dtype is not MNType.DOUBLE
    }
    reads = [name for node in graph.nodes for name in node.used]
    for cast in [node for node in graph.nodes if node.op_type == "Cast" and node.inputs[0] in makers]:
        name, target = cast.inputs[0], graph.values[cast.outputs[0]]
        if target.dtype is not MNType.FLOAT or reads.count(name) > 1 or name in graph.outputs:
            continue
        makers[name].outputs, makers[name].attrs[TRUE] = cast.outputs, 1.0
        graph.nodes.remove(cast)
        del graph.values[name]
