"""What the importer makes of Gather with run-time indices and of OneHot."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNValue, OnnxType


def gather_type(node: MNNode, in_dram: Collection[str]) -> str:
    """Operator of a Gather with run-time indices: it reads its source from DRAM or from local memory."""
    return "MNCoreStreamGather" if node.inputs[0] in in_dram else "MNCoreGather"


def open_one_hot(graph: MNGraph, node: MNNode, constants: dict[str, NDArray[Any]]) -> list[MNNode]:
    """OneHot as rows of a table: row i has the value `on` in place i, the last row (index out of range) none."""
    index, depth_name, values_name = node.inputs
    out = graph.values[node.outputs[0]]
    for name in (depth_name, values_name):
        if name not in constants:
            raise UnsupportedOperator(f"OneHot {out.name!r}: {name!r} must be known at compile time")
    depth = int(constants[depth_name].ravel()[0])
    off, on = constants[values_name].ravel()
    rows = np.full((depth + 1, depth), off)
    rows[np.arange(depth), np.arange(depth)] = on
    table = graph.fresh_name(out.name, "Rows")
    code = onnx.helper.np_dtype_to_tensor_dtype(rows.dtype)
    graph.add_value(MNValue(table, OnnxType.from_code(code), rows.shape, out.dtype, constant=rows))
    graph.params.append(table)
    rank = len(out.shape)
    axis = int(node.attrs.get("axis", -1)) % rank
    attrs = {"axis": 0, "depth": depth}
    if axis == rank - 1:
        return [MNNode("MNCoreStreamGather", node.name, [table, index], [out.name], attrs)]
    perm = [*range(axis), rank - 1, *range(axis, rank - 1)]
    inner = (*(extent for k, extent in enumerate(out.shape) if k != axis), depth)
    last = graph.add_value(MNValue(graph.fresh_name(out.name, "OneHot"), out.onnx_dtype, inner, out.dtype))
    return [
        MNNode("MNCoreStreamGather", node.name, [table, index], [last.name], attrs),
        MNNode("Transpose", f"{node.name}_axis", [last.name], [out.name], {"perm": perm}),
    ]
