"""Small ONNX models for the compiler's tests, made node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[int]
TYPES = {"float": TensorProto.FLOAT, "int": TensorProto.INT64, "bool": TensorProto.BOOL}


def build(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[str, Shape]],
    outputs: Mapping[str, tuple[str, Shape]],
    inner: Mapping[str, tuple[str, Shape]] | None = None,
    constants: Mapping[str, NDArray[Any]] | None = None,
) -> onnx.ModelProto:
    """A model with complete value_info; types are "float", "int", "bool"."""

    def infos(values: Mapping[str, tuple[str, Shape]]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, TYPES[kind], shape) for name, (kind, shape) in values.items()]

    graph = helper.make_graph(
        list(nodes),
        "graph",
        infos(inputs),
        infos(outputs),
        [numpy_helper.from_array(np.asarray(data), name) for name, data in (constants or {}).items()],
        value_info=infos(inner or {}),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("mncore", 1)])


def mlp(
    batch: int, image: Shape, hidden: int, classes: int, *, logits: bool = False, bias: bool = True, seed: int = 0
) -> onnx.ModelProto:
    """The evaluation step of a two-layer classifier: x, t -> correct (and the logits `addmm_1`)."""
    rng = np.random.default_rng(seed)
    depth = int(np.prod(image))

    def weight(rows: int, columns: int) -> NDArray[np.float32]:
        return (rng.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

    constants: dict[str, NDArray[Any]] = {"val_1": np.array([batch, depth], np.int64)}
    for number, (rows, columns) in enumerate([(hidden, depth), (classes, hidden)]):
        constants[f"attr_{2 * number}"] = weight(rows, columns)
        if bias:
            constants[f"attr_{2 * number + 1}"] = rng.standard_normal(rows).astype(np.float32) / 10
    first = ["view", "attr_0", "attr_1"] if bias else ["view", "attr_0"]
    second = ["relu", "attr_2", "attr_3"] if bias else ["relu", "attr_2"]
    nodes = [
        helper.make_node("Reshape", ["x", "val_1"], ["view"]),
        helper.make_node("Gemm", first, ["addmm"], transB=1),
        helper.make_node("Relu", ["addmm"], ["relu"]),
        helper.make_node("Gemm", second, ["addmm_1"], transB=1),
        helper.make_node("ArgMax", ["addmm_1"], ["argmax"], axis=1, keepdims=0),
        helper.make_node("Equal", ["argmax", "t"], ["eq"]),
        helper.make_node(
            "ChainerCastReduceSum", ["eq"], ["correct"], domain="mncore", to=TensorProto.INT64, keepdims=0
        ),
    ]
    inner = {
        "view": ("float", [batch, depth]),
        "addmm": ("float", [batch, hidden]),
        "relu": ("float", [batch, hidden]),
        "argmax": ("int", [batch]),
        "eq": ("bool", [batch]),
    }
    outputs: dict[str, tuple[str, Shape]] = {"correct": ("int", [])}
    (outputs if logits else inner)["addmm_1"] = ("float", [batch, classes])
    return build(nodes, {"x": ("float", [batch, *image]), "t": ("int", [batch])}, outputs, inner, constants)
