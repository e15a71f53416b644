"""Removes nodes that give their input back: Identity, conversions to the same type, reshapes to the same shape, …"""

from __future__ import annotations

import onnx_ir as ir

from compiler.pfvm.passes.edit import replace_by_value
from compiler.pfvm.program import attribute_values, static_shape

# Operators that cannot change anything when the shape of the result is the shape of the (first) input.
_BY_SHAPE = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand"})
_SINGLE = frozenset({"Concat", "Sum", "Max", "Min", "Mean"})


def remove_identities(model: ir.Model) -> int:
    """Returns the number of nodes removed.  Two transpositions that follow each other become one or none."""
    removed = 0
    for node in list(model.graph):
        if node.domain != "" or not node.inputs or node.inputs[0] is None:
            continue
        if node.op_type == "Transpose":
            _merge_transposes(node)
        if _is_identity(node) and replace_by_value(node, node.inputs[0]):
            removed += 1
    return removed


def _is_identity(node: ir.Node) -> bool:
    source, result = node.inputs[0], node.outputs[0]
    assert source is not None  # checked by the caller
    if node.op_type == "Identity":
        return True
    if node.op_type == "Dropout":
        training = node.inputs[2] if len(node.inputs) > 2 else None
        return training is None and not any(value.uses() or value.is_graph_output() for value in node.outputs[1:])
    if node.op_type == "Cast":
        return source.dtype is not None and source.dtype == node.attributes["to"].as_int()
    if node.op_type == "Transpose":
        perm = attribute_values(node).get("perm")
        return perm is not None and perm == sorted(perm)
    if node.op_type in _SINGLE:
        return len(node.inputs) == 1
    shape = static_shape(source)
    return node.op_type in _BY_SHAPE and shape is not None and shape == static_shape(result)


def _merge_transposes(node: ir.Node) -> None:
    inner = node.inputs[0].producer() if node.inputs[0] is not None else None
    if inner is None or inner.op_type != "Transpose" or inner.domain != "":
        return
    second, first = attribute_values(node).get("perm"), attribute_values(inner).get("perm")
    if first is None or second is None:
        return
    node.replace_input_with(0, inner.inputs[0])
    node.attributes["perm"] = ir.AttrInt64s("perm", [first[axis] for axis in second])
