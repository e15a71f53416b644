"""Tables that planned nodes read as parameters: compile-time data with a layout, downloaded like weights."""

from __future__ import annotations

from compiler.graph import MNGraph, MNType, MNValue, OnnxType
from compiler.switch.cells import Move
from compiler.switch.selection import select, table_data, table_layout


def add_table(graph: MNGraph, base: str, move: Move) -> list[str]:
    """Name of a new parameter with the table of a move; empty when all PEs do the same."""
    data = table_data(select(move))
    if data is None:
        return []
    name = graph.fresh_name(base, "Table")
    value = MNValue(name, OnnxType.INT32, data.shape, MNType.INT, table_layout(data.shape), constant=data)
    graph.add_value(value)
    graph.params.append(name)
    return [name]
