"""Cutting a tensor: the translation makes a list of parts and takes them out again; here it is one node `Split`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir


def join_splits(model: ir.Model) -> None:
    """Replace `SplitToSequence` whose readers are all `SequenceAt` with constant places by `Split`."""
    graph = model.graph
    for node in list(graph):
        if node.op_type != "SplitToSequence" or node.domain != "":
            continue
        source, places = node.inputs[0], [_place(user) for user in node.outputs[0].consumers()]
        sizes = _sizes(node)
        if source is None or sizes is None or any(place is None for place in places):
            continue
        given = ir.node("Constant", [], {"value": ir.tensor(np.array(sizes, np.int64))})
        given.outputs[0].name = f"{node.outputs[0].name}_sizes"
        given.outputs[0].dtype, given.outputs[0].shape = ir.DataType.INT64, ir.Shape((len(sizes),))
        axis = {"axis": node.attributes.get_int("axis", 0)}
        split = ir.node("Split", [source, given.outputs[0]], axis, num_outputs=len(sizes))
        for new in (given, split):
            new.metadata_props.update(node.metadata_props)
        graph.insert_before(node, [given, split])
        for user, place in zip(list(node.outputs[0].consumers()), places, strict=True):
            old, part = user.outputs[0], split.outputs[place or 0]
            if part.name is None:
                part.name, old.name = old.name, None
            part.type, part.shape = old.type, old.shape
            ir.convenience.replace_all_uses_with(old, part, replace_graph_outputs=True)
            graph.remove(user, safe=True)
        for number, part in enumerate(split.outputs):
            part.name = part.name or f"{node.outputs[0].name}_{number}"
        graph.remove(node, safe=True)


def _place(user: ir.Node) -> int | None:
    """The part that a reader takes, None for another kind of reader."""
    index = _constant(user.inputs[1]) if user.op_type == "SequenceAt" else None
    return None if index is None else int(index)


def _sizes(node: ir.Node) -> list[int] | None:
    """Extents of the parts, None where they are not known."""
    source, given = node.inputs[0], _constant(node.inputs[1]) if len(node.inputs) > 1 else np.array(1)
    if source is None or source.shape is None or given is None:
        return None
    extent = source.shape[node.attributes.get_int("axis", 0)]
    if not isinstance(extent, int):
        return None
    if given.ndim:
        return [int(size) for size in given]
    return [min(int(given), extent - start) for start in range(0, extent, int(given))]


def _constant(value: ir.Value | None) -> np.ndarray | None:
    producer = value.producer() if value is not None else None
    if producer is None or producer.op_type != "Constant":
        return None
    attribute = next(iter(producer.attributes.values()))
    if attribute.type == ir.AttributeType.TENSOR:
        return attribute.as_tensor().numpy()
    if attribute.type == ir.AttributeType.INT:
        return np.array(attribute.as_int())
    return np.array(attribute.as_ints()) if attribute.type == ir.AttributeType.INTS else None
