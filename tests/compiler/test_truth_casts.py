"""Comparisons that only a cast reads, and operands whose words are put together in registers: results bit for bit."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.emit.link import emit_program
from compiler.graph import Location, MNGraph, MNNode, MNType, MNValue, OnnxType
from compiler.graph.dtypes import encode
from compiler.layers.registry import layer_of
from compiler.layout import PadLayout
from compiler.options import Options
from compiler.records import boards
from hw.engine import execute
from hw.state import Board
from isa.assemble import assemble
from tests.compiler import machine, models


def _compared(op_type: str, *, twice: bool) -> onnx.ModelProto:
    nodes = [helper.make_node(op_type, ["x", "y"], ["p"]), helper.make_node("Cast", ["p"], ["c"], to=1)]
    outputs: dict[str, tuple[str, models.Shape]] = {"c": ("float", [3, 7])}
    if twice:
        nodes.append(helper.make_node("Where", ["p", "x", "y"], ["z"]))
        outputs["z"] = ("float", [3, 7])
    inputs: dict[str, tuple[str, models.Shape]] = {"x": ("float", [3, 7]), "y": ("float", [3, 7])}
    return models.build(nodes, inputs, outputs, {"p": ("bool", [3, 7])}, {})


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize(
    ("op_type", "compare"),
    [
        ("Equal", np.equal),
        ("Less", np.less),
        ("LessOrEqual", np.less_equal),
        ("Greater", np.greater),
        ("GreaterOrEqual", np.greater_equal),
    ],
)
def test_comparison_gives_singles(op_type: str, compare: np.ufunc, twice: bool) -> None:
    compiled = compile_model(_compared(op_type, twice=twice), Options.resolve({}, {}))
    assert any(node.op_type == "Cast" for node in compiled.graph.nodes) == twice
    x = np.resize(np.array([0.0, -0.0, 1.0, -1.0, 2.5, 2e-38, -3e38], np.float32), (3, 7))
    y = np.resize(np.array([0.0, 1.0, -1.0, 2.5, -0.0], np.float32), (3, 7))
    got = machine.run(compiled, {"x": x, "y": y})
    np.testing.assert_array_equal(got["c"].view(np.float32), compare(x, y).astype(np.float32))


@pytest.mark.parametrize(
    ("full", "column"),
    [
        ("(10,8)/((10:1), (4_PE:1, 2_W:1))", "(10,1)/((5:1, 2_W:1), ())"),
        ("(10,24)/((10:3), (3:1, 4_PE:1, 2_W:1))", "(10,1)/((5:1, 2_W:1), ())"),
        ("(10,24)/((10:1), (3:10, 2_W:1, 4_PE:1))", "(10,1)/((2_W:1, 5:1), ())"),
        ("(70,8)/((70:1), (4_PE:1, 2_W:1))", "(70,1)/((35:1, 2:35), (); B@[W])"),
    ],
)
@pytest.mark.parametrize("bank", [Location.LM0, Location.LM1])
def test_words_put_together(full: str, column: str, bank: Location) -> None:
    a, b = PadLayout.parse(full), PadLayout.parse(column)
    graph = MNGraph(inputs=["a", "b"], outputs=["c"])
    for name, layout in (("a", a), ("b", b), ("c", a)):
        graph.add_value(MNValue(name, OnnxType.FLOAT32, layout.shape, MNType.FLOAT, layout))
    node = MNNode("Sub", "Sub", ["a", "b"], ["c"])
    graph.nodes.append(node)
    layer = layer_of(node)
    assert layer.assign(node, graph, [a, b], [None]).inputs[1] == b
    graph.values["a"].place_at(Location.LM0, 0)
    graph.values["b"].place_at(bank, 1024)
    graph.values["c"].place_at(Location.LM1, 0)
    rng = np.random.default_rng(4)
    raw = [encode(rng.standard_normal(layout.shape), MNType.FLOAT) for layout in (a, b)]
    board = Board()
    for name, bits in zip("ab", raw, strict=True):
        boards.store(board, graph.values[name], bits)
    execute(assemble(emit_program(graph, [{}])), board)
    np.testing.assert_array_equal(boards.load(board, graph.values["c"]), layer.reference(node, graph, raw)[0])
