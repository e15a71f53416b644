"""Joins the constants that the exporter writes element by element, so that a shape is one constant value."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir


def join_constants(model: ir.Model) -> None:
    """Replace `Concat(Constant, Constant, …)` along axis 0 by one `Constant`; constants that nobody reads go away."""
    graph = model.graph
    for node in list(graph):
        if node.op_type != "Concat" or node.domain != "":
            continue
        parts = [_value(value) for value in node.inputs]
        if any(part is None or part.ndim != 1 for part in parts):
            continue
        joined = ir.node("Constant", [], {"value": ir.tensor(np.concatenate([p for p in parts if p is not None]))})
        joined.metadata_props.update(node.metadata_props)
        old, new = node.outputs[0], joined.outputs[0]
        new.name, old.name = old.name, None
        new.dtype, new.shape = ir.DataType.INT64, ir.Shape((sum(len(p) for p in parts if p is not None),))
        graph.insert_before(node, joined)
        ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)
        graph.remove(node, safe=True)
    for node in list(graph):
        if node.op_type == "Constant" and not node.outputs[0].uses() and not node.outputs[0].is_graph_output():
            graph.remove(node, safe=True)


def _value(value: ir.Value | None) -> np.ndarray | None:
    """Contents of a constant list of integers, else None."""
    producer = value.producer() if value is not None else None
    if producer is None or producer.op_type != "Constant" or "value_ints" not in producer.attributes:
        return None
    return np.array(producer.attributes["value_ints"].as_ints(), dtype=np.int64)
