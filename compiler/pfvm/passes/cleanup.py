"""Passes without rules of our own: equal nodes, dead code, attributes that say the default, shapes of values."""

from __future__ import annotations

import logging

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import CommonSubexpressionEliminationPass, RemoveUnusedNodesPass, ShapeInferencePass

from compiler.pfvm.errors import ModelError
from compiler.pfvm.passes.edit import constant_ints
from compiler.pfvm.place import place_of
from compiler.pfvm.program import attribute_values, static_shape


def merge_equal_nodes(model: ir.Model) -> int:
    """Common subexpression elimination; returns the number of nodes that went away."""
    before = len(model.graph)
    CommonSubexpressionEliminationPass()(model)
    return before - len(model.graph)


def remove_dead_code(model: ir.Model) -> int:
    """Nodes, optional outputs and initializers without a reader go away, graph inputs stay; returns the number."""
    before = len(model.graph) + len(model.graph.initializers)
    RemoveUnusedNodesPass()(model)
    return before - len(model.graph) - len(model.graph.initializers)


def drop_default_attributes(model: ir.Model) -> int:
    """Attributes that say what is the case anyway go away, so that the set ones stand out (l3ir.txt lists them)."""
    dropped = 0
    version = model.graph.opset_imports.get("", 1)
    for node in model.graph:
        if node.domain != "" or not onnx.defs.has(node.op_type, version):
            continue
        schema = onnx.defs.get_schema(node.op_type, version)
        for name, value in attribute_values(node).items():
            declared = schema.attributes.get(name)
            if declared is None or declared.required or not declared.default_value.name:
                continue
            default = onnx.helper.get_attribute_value(declared.default_value)
            if isinstance(default, bytes):
                default = default.decode()
            if value == default or _zero_extents_do_not_occur(node, name):
                del node.attributes[name]
                dropped += 1
    return dropped


def _zero_extents_do_not_occur(node: ir.Node, attribute: str) -> bool:
    if node.op_type != "Reshape" or attribute != "allowzero":
        return False
    target = constant_ints(node.inputs[1])
    return target is not None and 0 not in target


def infer_shapes(model: ir.Model) -> int:
    """Fill in types and shapes by ONNX shape inference; known static shapes stay.  Returns the number of new ones."""
    values = [value for node in model.graph for value in node.outputs]
    known = {value: value.shape for value in values if static_shape(value) is not None}
    order = list(model.graph.initializers.values())
    logger = logging.getLogger("onnx_ir.passes.common.shape_inference")
    level = logger.level
    # Its warning of a failure says less than `require_static_shapes` does.
    logger.setLevel(logging.ERROR)
    try:
        ShapeInferencePass(check_type=False, strict_mode=False)(model)
    finally:
        logger.setLevel(level)
    for value, shape in known.items():
        value.shape = shape
    # The pass takes large initializers out for a while and appends them again.
    model.graph.initializers.clear()
    for value in order:
        model.graph.register_initializer(value)
    return sum(1 for value in values if value not in known and static_shape(value) is not None)


def require_static_shapes(model: ir.Model) -> None:
    """Raises ModelError for the first value without element type or static shape."""
    for value in model.graph.inputs:
        if value.dtype is None or static_shape(value) is None:
            raise ModelError(f"input '{value.name}' has no static shape: {value.shape}")
    for node in model.graph:
        for value in node.outputs:
            if value.name and (value.dtype is None or static_shape(value) is None):
                raise ModelError(f"the shape of value '{value.name}' at {place_of(node)} is not static: {value.shape}")
