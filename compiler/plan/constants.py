"""Nodes that make a tensor out of nothing: their value is a parameter with fixed data, made at compile time."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNValue

#: PFVM folds these unless their value is an output of the graph.
MAKERS = frozenset({"Constant", "ConstantOfShape", "Range"})


def made_constant(graph: MNGraph, proto: onnx.NodeProto, constants: dict[str, NDArray[Any]]) -> MNNode:
    """The node that copies the constant, a new parameter, to where the node's value is wanted.

    Raises UnsupportedOperator when the shape or the bounds are not known at compile time.
    """
    import torch

    from compiler.pfvm.operators import OPERATORS, Call

    for name in proto.input:
        if name not in constants:
            raise UnsupportedOperator(
                f"{proto.op_type} {proto.output[0]!r}: input {name!r} must be known at compile time"
            )
    attributes: dict[str, Any] = {}
    for attribute in proto.attribute:
        data = onnx.helper.get_attribute_value(attribute)
        tensor = isinstance(data, onnx.TensorProto)
        attributes[attribute.name] = torch.from_numpy(onnx.numpy_helper.to_array(data).copy()) if tensor else data
    inputs = [torch.from_numpy(np.array(constants[name])) for name in proto.input]
    result = OPERATORS["", proto.op_type].evaluate(Call(inputs, attributes, torch.device("cpu")))
    assert isinstance(result, torch.Tensor)
    value = graph.values[proto.output[0]]
    name = graph.fresh_name(value.name, "Constant")
    data = result.numpy().astype(value.onnx_dtype.numpy)
    graph.add_value(MNValue(name, value.onnx_dtype, value.shape, value.dtype, constant=data.reshape(value.shape)))
    graph.params.append(name)
    return MNNode("Identity", proto.name or value.name, [name], [value.name])
