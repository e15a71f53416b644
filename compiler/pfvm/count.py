"""The operation count of a model (compiler.md 13.2, candidate A); the charges are in the operator records."""

from __future__ import annotations

import onnx
import onnx_ir as ir

from compiler.pfvm.errors import ModelError
from compiler.pfvm.operators import OPERATORS, Charged
from compiler.pfvm.operators.record import per_output
from compiler.pfvm.place import place_of
from compiler.pfvm.program import attribute_values, static_shape

# The rule of the ancestor compiler for operators that have no record.
_UNLISTED = per_output(1)


def flops(model: onnx.ModelProto) -> int:
    """Operations of one call: the sum of the charges of all nodes.

    Unpadded shapes count, moves are free, an operator without a record costs one operation for each output element.
    Raises ModelError if a shape is not known; `optimize` stores them all.
    """
    return sum(node_flops(node) for node in ir.from_proto(model).graph)


def node_flops(node: ir.Node) -> int:
    """Operations of one node."""
    inputs = [None if value is None else _shape(value, node) for value in node.inputs]
    outputs = [_shape(value, node) for value in node.outputs if value.name]
    operator = OPERATORS.get((node.domain, node.op_type))
    charge = operator.charge if operator is not None else _UNLISTED
    return charge(Charged(inputs, outputs, attribute_values(node)))


def _shape(value: ir.Value, node: ir.Node) -> tuple[int, ...]:
    shape = static_shape(value)
    if shape is None:
        raise ModelError(f"the shape of value '{value.name}' at {place_of(node)} is not known; run optimize first")
    return shape
