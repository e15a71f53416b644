"""Matrix products in one form: MatMul and Add become Gemm, transposed operands its transA, transB (seed 3.1.1)."""

from __future__ import annotations

import onnx_ir as ir

from compiler.pfvm.passes.edit import replace_by_node, sole_reader
from compiler.pfvm.program import attribute_values, static_shape

_SWAP = [1, 0]


def _transposed(value: ir.Value | None) -> ir.Value | None:
    """x for a value Transpose(x) of a matrix, else None."""
    node = value.producer() if value is not None else None
    if node is None or node.op_type != "Transpose" or node.domain != "":
        return None
    if attribute_values(node).get("perm", _SWAP) != _SWAP or node.inputs[0] is None:
        return None
    shape = static_shape(node.inputs[0])
    return node.inputs[0] if shape is not None and len(shape) == 2 else None


def _is_plain_matmul(node: ir.Node) -> bool:
    if node.op_type != "MatMul" or node.domain != "":
        return False
    shapes = [static_shape(value) if value is not None else None for value in node.inputs]
    # Gemm is defined for floating point only on most back ends, and for matrices.
    floating = (
        node.inputs[0] is not None and node.inputs[0].dtype is not None and node.inputs[0].dtype.is_floating_point()
    )
    return floating and all(shape is not None and len(shape) == 2 for shape in shapes)


def matmul_to_gemm(model: ir.Model) -> int:
    """MatMul of matrices becomes Gemm if it only meets a bias or has a transposed operand; returns the number."""
    changes = 0
    for node in list(model.graph):
        if not _is_plain_matmul(node):
            continue
        product = node.outputs[0]
        reader = sole_reader(product)
        bias = _bias(reader, product) if reader is not None else None
        if reader is not None and bias is not None:
            fused = ir.node("Gemm", [*node.inputs, bias])
            fused.metadata_props.update(node.metadata_props)
            replace_by_node(reader, fused)
            model.graph.remove(node, safe=True)
            changes += 1
        elif any(_transposed(value) is not None for value in node.inputs):
            replace_by_node(node, ir.node("Gemm", list(node.inputs)))
            changes += 1
    return changes


def _bias(add: ir.Node, product: ir.Value) -> ir.Value | None:
    """The other summand of an Add if Gemm can take it: it broadcasts to the product and not the other way round."""
    if add.op_type != "Add" or add.domain != "":
        return None
    other = add.inputs[1] if add.inputs[0] is product else add.inputs[0]
    shape, target = (static_shape(other) if other is not None else None), static_shape(product)
    if shape is None or target is None or len(shape) > 2 or other is product:
        return None
    fits = all(extent in (1, full) for extent, full in zip(reversed(shape), reversed(target), strict=False))
    # A full matrix as bias is an addition of its own for the layers, not a bias.
    return other if fits and shape != target else None


def fold_transposes(model: ir.Model) -> int:
    """Gemm reads the matrix itself instead of its transposition; returns the number of operands changed."""
    changes = 0
    for node in model.graph:
        if node.op_type != "Gemm" or node.domain != "":
            continue
        for index, name in enumerate(("transA", "transB")):
            source = _transposed(node.inputs[index])
            if source is None:
                continue
            flag = attribute_values(node).get(name, 0)
            node.replace_input_with(index, source)
            node.attributes[name] = ir.AttrInt64(name, 1 - flag)
            changes += 1
    return changes
