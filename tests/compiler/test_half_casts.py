"""Halves that become singles go through the MAU, whose zeros are positive."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.layers.reference import run_reference
from compiler.options import Options
from compiler.pfvm import optimize
from tests.compiler import machine, models


@pytest.mark.parametrize("shape", [(64,), (3, 7)])
def test_a_negative_zero_becomes_a_positive_one(shape: tuple[int, ...]) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Neg", ["r"], ["n"]),
        helper.make_node("Less", ["x", "bound"], ["less"]),
        helper.make_node("Where", ["less", "r", "other"], ["w"]),
    ]
    floats = {name: ("float", list(shape)) for name in "xnwr"}
    outputs, between = {name: floats[name] for name in "nw"}, {"r": floats["r"], "less": ("bool", list(shape))}
    numbers = {"bound": np.array([0.3], np.float32), "other": np.array([0.7], np.float32)}
    model = models.build(nodes, {"x": floats["x"]}, outputs, between, numbers)
    compiled = compile_model(optimize(model), Options.resolve({"float_dtype": "half"}, {}))
    graph = compiled.graph
    assert any(n.op_type == "Cast" and n.inputs[0].startswith("r") for n in graph.nodes)
    x = np.resize(np.array([-0.0, 0.0, -2.5, 1.5, 0.25, -1e-30, np.inf, -np.inf], np.float32), shape)
    got, raw = machine.run(compiled, {"x": x}), run_reference(graph, {"x": x})
    for name, stored in compiled.stored.items():
        np.testing.assert_array_equal(got[name], raw[stored], err_msg=name)
    np.testing.assert_array_equal(got["w"], np.where(x < 0.3, np.maximum(x, 0) + 0, np.float32(0.7)).view(np.uint32))
