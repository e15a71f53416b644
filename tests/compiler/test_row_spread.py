"""Rows spread over the MABs: layouts, when it is done, and results bit for bit."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.layers.halfmath import half_to_float
from compiler.layers.reference import run_reference
from compiler.layout import PadLayout
from compiler.options import Options
from compiler.plan.row_spread import over_mabs
from tests.compiler import machine, models

DEPTH = 256


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "(64,10)/((4:16, 4:1, 4:4), (4_W:1, 4_PE:1); B@[MAB,L1B,L2B])",
            "(64,10)/((16_MAB:1, 4:1), (4_W:1, 4_PE:1); B@[L1B,L2B])",
        ),
        (
            "(64,10)/((4:32, 4:2, 4:8), (2:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])",
            "(64,10)/((16_MAB:1, 4:2), (2:1, 2_W:1, 4_PE:1); B@[L1B,L2B])",
        ),
        (
            "(256,6)/((8_L2B:1, 32:1), (6:32); B@[MAB,L1B,PE,W])",
            "(256,6)/((8_L2B:1, 16_MAB:1, 2:1), (6:2); B@[L1B,PE,W])",
        ),
        (
            "(256,6)/((8_L2B:1, 32:6), (6:1); B@[MAB,L1B,PE,W])",
            "(256,6)/((8_L2B:1, 16_MAB:1, 2:6), (6:1); B@[L1B,PE,W])",
        ),
        ("(48,4)/((48:1), (4_PE:1); B@[MAB,L1B,L2B,W])", "(48,4)/((16_MAB:1, 3:1), (4_PE:1); B@[L1B,L2B,W])"),
    ],
)
def test_layouts(before: str, after: str) -> None:
    spread = over_mabs(PadLayout.parse(before))
    assert spread is not None and spread.equivalent(PadLayout.parse(after))


@pytest.mark.parametrize(
    "layout",
    [
        "(64,4)/((16_MAB:1, 4:1), (4_PE:1); B@[L1B,L2B,W])",
        "(60,4)/((64:1), (4_PE:1); B@[MAB,L1B,L2B,W])",
        "(24,4)/((24:1), (4_PE:1); B@[MAB,L1B,L2B,W])",
        "()/(; B@[PE,W,MAB,L1B,L2B])",
    ],
)
def test_layouts_that_stay(layout: str) -> None:
    assert over_mabs(PadLayout.parse(layout)) is None


def _loss(batch: int) -> onnx.ModelProto:
    """Scores of a product, softmax, cross entropy with labels, and the gradient of the scores."""
    rows, column = [batch, 10], [batch, 1]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1, spread="-KK-"),
        helper.make_node("ReduceMax", ["y", "last"], ["m"], keepdims=1),
        helper.make_node("Sub", ["y", "m"], ["z"]),
        helper.make_node("Exp", ["z"], ["e"]),
        helper.make_node("ReduceSum", ["e", "last"], ["s"], keepdims=1),
        helper.make_node("Div", ["e", "s"], ["p"]),
        helper.make_node("Unsqueeze", ["t", "last"], ["u"]),
        helper.make_node("Equal", ["u", "columns"], ["hit"]),
        helper.make_node("Where", ["hit", "one", "zero"], ["want"]),
        helper.make_node("Sub", ["p", "want"], ["d"]),
        helper.make_node("Gemm", ["d", "x"], ["dw"], transA=1),
    ]
    inner: dict[str, tuple[str, models.Shape]] = {name: ("float", rows) for name in ("y", "z", "e", "p", "want", "d")}
    inner |= {"m": ("float", column), "s": ("float", column), "u": ("int", column), "hit": ("bool", rows)}
    inputs: dict[str, tuple[str, models.Shape]] = {"x": ("float", [batch, DEPTH]), "t": ("int", [batch])}
    inputs |= {"w": ("float", [10, DEPTH]), "b": ("float", [10])}
    arrays = {
        "last": np.array([1], np.int64),
        "columns": np.arange(10).reshape(1, 10),
        "one": np.array(1, np.float32),
        "zero": np.array(0, np.float32),
    }
    return models.build(nodes, inputs, {"dw": ("float", [10, DEPTH])}, inner, arrays)


def _compiled(batch: int) -> Compiled:
    return compile_model(_loss(batch), Options.resolve({"scheduler": "spill_opt"}, {}))


def test_a_loss_and_its_gradient() -> None:
    compiled = _compiled(64)
    reason = "a sixteenth of the rows in each MAB"
    assert any(event.reason == reason for event in compiled.history.events)
    assert len([node for node in compiled.graph.nodes if node.op_type == "MNCoreLayoutSwitch"]) <= 2
    rng = np.random.default_rng(2)
    feeds = {name: (rng.standard_normal(shape) / 8).astype(np.float32) for name, shape in _shapes(64).items()}
    feeds["t"] = rng.integers(0, 10, 64)
    got, raw = machine.run(compiled, feeds), run_reference(compiled.graph, feeds)
    np.testing.assert_array_equal(got["dw"], raw[compiled.stored["dw"]])
    scores = feeds["x"] @ feeds["w"].T + feeds["b"]
    chance = np.exp(scores - scores.max(1, keepdims=True))
    gradient = chance / chance.sum(1, keepdims=True) - np.eye(10)[feeds["t"]]
    exact = gradient.T @ feeds["x"]
    found = half_to_float(got["dw"])
    assert np.abs(found - exact).max() < 0.02 * np.abs(exact).max()


def _shapes(batch: int) -> dict[str, list[int]]:
    return {"x": [batch, DEPTH], "w": [10, DEPTH], "b": [10]}
