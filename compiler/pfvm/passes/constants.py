"""Constant folding: what does not depend on inputs or parameters becomes an initializer (seed 3.1.1).

Nodes are computed by PFVM's own operator table.  Parameters are never folded: the device keeps and updates them.
"""

from __future__ import annotations

import math

import onnx_ir as ir
import torch
from onnx_ir.tensor_adapters import TorchTensor

from compiler.pfvm.dtypes import to_torch
from compiler.pfvm.errors import EvaluationError
from compiler.pfvm.operators import OPERATORS, Call
from compiler.pfvm.passes.edit import constant_of, replace_by_node
from compiler.pfvm.place import operator_name, place_of
from compiler.pfvm.program import attribute_values, static_shape

_LARGEST = 1 << 16
"""Elements up to which a folded constant may be larger than all its inputs (an Expand would bloat the program)."""


def fold_constants(model: ir.Model) -> int:
    """Turn Constant nodes and nodes of constants into initializers, CastLike into Cast; returns the number of nodes."""
    changes = 0
    for node in list(model.graph):
        if node.op_type == "CastLike" and node.domain == "" and _cast_like(node):
            changes += 1
            continue
        if len(node.outputs) != 1 or node.outputs[0].is_graph_output():
            continue
        result = _shape_query(node) if node.op_type in ("Shape", "Size") and node.domain == "" else _evaluate(node)
        if result is not None:
            _to_initializer(node, result)
            changes += 1
    return changes


def _cast_like(node: ir.Node) -> bool:
    target = node.inputs[1]
    if target is None or target.dtype is None:
        return False
    replace_by_node(node, ir.node("Cast", [node.inputs[0]], {"to": int(target.dtype)}))
    return True


def _shape_query(node: ir.Node) -> torch.Tensor | None:
    """Shapes are static, so asking for one needs no data."""
    shape = static_shape(node.inputs[0]) if node.inputs[0] is not None else None
    if shape is None:
        return None
    if node.op_type == "Size":
        return torch.tensor(math.prod(shape))
    attributes = attribute_values(node)
    return torch.tensor(list(shape)[attributes.get("start", 0) : attributes.get("end")], dtype=torch.int64)


def _evaluate(node: ir.Node) -> torch.Tensor | None:
    operator = OPERATORS.get((node.domain, node.op_type))
    if operator is None:
        return None
    inputs: list[torch.Tensor | None] = []
    for value in node.inputs:
        tensor = constant_of(value)
        if value is not None and tensor is None:
            return None
        inputs.append(None if tensor is None else to_torch(tensor))
    given = sum(value.numel() for value in inputs if value is not None)
    shape = static_shape(node.outputs[0])
    if shape is not None and math.prod(shape) > max(given, _LARGEST):
        return None
    try:
        result = operator.evaluate(Call(inputs, attribute_values(node), torch.device("cpu")))
    except Exception as error:
        raise EvaluationError(operator_name(node), place_of(node), str(error)) from error
    return result if isinstance(result, torch.Tensor) else None


def _to_initializer(node: ir.Node, result: torch.Tensor) -> None:
    graph, old = node.graph, node.outputs[0]
    assert graph is not None  # the node comes from a graph
    name = old.name
    tensor = TorchTensor(result.contiguous().clone(), name=name)
    value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(tensor.shape), const_value=tensor)
    old.name = None
    ir.convenience.replace_all_uses_with(old, value)
    graph.remove(node, safe=True)
    graph.register_initializer(value)


def share_constants(model: ir.Model) -> int:
    """Let equal constants be one initializer; returns how many went away (off: PFVM_DISABLE_CONSTANT_REUSE)."""
    first: dict[tuple[object, ...], ir.Value] = {}
    shared = 0
    for value in list(model.graph.initializers.values()):
        tensor = constant_of(value)
        if tensor is None or value.is_graph_output():
            continue
        original = first.setdefault((tensor.dtype, tuple(tensor.shape), tensor.tobytes()), value)
        if original is not value:
            ir.convenience.replace_all_uses_with(value, original)
            del model.graph.initializers[value.name or ""]
            shared += 1
    return shared
