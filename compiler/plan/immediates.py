"""Constants of one element that element-wise operators read become immediates of the code (attribute `scalars`)."""

from __future__ import annotations

from collections.abc import Collection

from compiler.graph import MNGraph
from compiler.layers.elementwise import scalar_inputs


def inline_scalars(graph: MNGraph, changing: Collection[str]) -> None:
    """Move constants of one element into the nodes that can take them, and drop those that nothing reads any more.

    `changing`: parameters, whose contents may change between calls; they stay tensors.
    """
    constant = {name for name in graph.params if name not in changing and graph.values[name].constant is not None}
    for node in graph.nodes:
        given = len(node.used)
        for position in scalar_inputs(node):
            name = node.inputs[position]
            data = graph.values[name].constant if name in constant else None
            if data is None or data.size != 1 or given == 1:
                continue
            given -= 1
            node.attrs.setdefault("scalars", {})[position] = data.ravel()[0].item()
            node.inputs[position] = ""
    read = {name for node in graph.nodes for name in node.used} | set(graph.outputs)
    for name in [name for name in graph.params if name in constant and name not in read]:
        graph.params.remove(name)
        del graph.values[name]
