"""Tables that planned nodes read as parameters: compile-time data with a layout, downloaded like weights."""

from __future__ import annotations

from compiler.graph import MNGraph, MNNode, MNType, MNValue, OnnxType
from compiler.layers.registry import layer_of


def add_tables(graph: MNGraph, node: MNNode) -> None:
    """Make the tables of a node whose layouts are settled parameters and its last inputs."""
    tables = layer_of(node).tables(node, graph)
    for table in tables:
        name = graph.fresh_name(node.outputs[0], "Table")
        value = MNValue(name, OnnxType.INT32, table.data.shape, MNType.INT, table.layout, constant=table.data)
        graph.add_value(value)
        graph.params.append(name)
        node.inputs.append(name)
    if tables:
        node.attrs["tables"] = len(tables)
