"""A conversion whose result is only summed becomes one operator, ChainerCastReduceSum (seed 3.1.1)."""

from __future__ import annotations

import onnx_ir as ir

from compiler.domain import DOMAIN, VERSION
from compiler.pfvm.operators.custom import CAST_REDUCE_SUM
from compiler.pfvm.passes.edit import constant_ints, replace_by_node, sole_reader
from compiler.pfvm.program import attribute_values


def fuse_cast_reduce_sum(model: ir.Model) -> int:
    """Returns the number of pairs fused."""
    fused = 0
    for node in list(model.graph):
        if node.op_type != "Cast" or node.domain != "":
            continue
        reduce = sole_reader(node.outputs[0])
        if reduce is None or reduce.op_type != "ReduceSum" or reduce.domain != "":
            continue
        axes: list[int] | None = None
        if len(reduce.inputs) > 1 and reduce.inputs[1] is not None:
            axes = constant_ints(reduce.inputs[1])
            if axes is None:
                continue
        attributes = attribute_values(reduce)
        if not axes and attributes.get("noop_with_empty_axes", 0):
            continue
        new: dict[str, int | list[int]] = {
            "to": node.attributes["to"].as_int(),
            "keepdims": attributes.get("keepdims", 1),
        }
        if axes:
            new["axes"] = axes
        replace_by_node(reduce, ir.node(CAST_REDUCE_SUM, [node.inputs[0]], new, domain=DOMAIN))
        model.graph.remove(node, safe=True)
        model.graph.opset_imports[DOMAIN] = VERSION
        fused += 1
    return fused
