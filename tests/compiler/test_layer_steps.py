"""Layer steps of the schedulers: a conversion that the dtype planner puts in is part of the operator that reads it."""

from __future__ import annotations

import numpy as np
from onnx import helper

from compiler.codegen import compile_model
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models


def test_a_planned_conversion_does_not_part_neighbours() -> None:
    """`a` stays in local memory for the Add, although the Half product is converted to Float in between."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["b"]),
        helper.make_node("Mul", ["v", "v"], ["a"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    square = [16, 16]
    inputs = {name: ("float", square) for name in ("x", "w", "v")}
    model = models.build(nodes, inputs, {"y": ("float", square)}, {"a": ("float", square), "b": ("float", square)})
    compiled = compile_model(model, Options.resolve({"scheduler": "reuse_consecutive"}, {}))
    kinds = [node.op_type for node in compiled.graph.nodes]
    assert "Cast" in kinds[kinds.index("Mul") : kinds.index("Add")]
    assert not any(node.op_type == "MNCoreUpload" and node.inputs == ["a"] for node in compiled.graph.nodes)
    rng = np.random.default_rng(0)
    feeds = {name: rng.standard_normal(square).astype(np.float32) for name in inputs}
    raw = run_reference(compiled.graph, feeds)
    np.testing.assert_array_equal(machine.run(compiled, feeds)["y"], raw[compiled.stored["y"]])
