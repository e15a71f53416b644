"""A whole training step on the simulated chip: forward, both gradients, momentum and update, bit for bit.

The loss is the squared distance to the targets, so that no other operator than those of the products takes part.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.layers.halfmath import half_to_float
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models

RATE, MOMENTUM = 0.05, 0.9


def training_step(batch: int, depth: int, hidden: int, classes: int) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["y1"], transB=1),
        helper.make_node("Relu", ["y1"], ["h"]),
        helper.make_node("Gemm", ["h", "w2", "b2"], ["y2"], transB=1),
        helper.make_node("Sub", ["y2", "target"], ["d"]),
        helper.make_node("Mul", ["d", "share"], ["dy"]),
        helper.make_node("Gemm", ["dy", "h"], ["dw2"], transA=1),
        helper.make_node("Gemm", ["dy", "w2"], ["dh"]),
        helper.make_node("Greater", ["y1", "zero"], ["open"]),
        helper.make_node("Where", ["open", "dh", "zero"], ["dz"]),
        helper.make_node("Gemm", ["dz", "x"], ["dw1"], transA=1),
    ]
    rows, weights = [batch, hidden], {"1": [hidden, depth], "2": [classes, hidden]}
    inner: dict[str, tuple[str, models.Shape]] = {name: ("float", rows) for name in ("y1", "h", "dh", "dz")}
    inner |= {name: ("float", [batch, classes]) for name in ("y2", "d", "dy")} | {"open": ("bool", rows)}
    outputs: dict[str, tuple[str, models.Shape]] = {}
    inputs: dict[str, tuple[str, models.Shape]] = {"x": ("float", [batch, depth])}
    inputs["target"] = ("float", [batch, classes])
    for number, shape in weights.items():
        nodes += [
            helper.make_node("Mul", [f"m{number}", "momentum"], [f"t{number}"]),
            helper.make_node("Add", [f"t{number}", f"dw{number}"], [f"new_m{number}"]),
            helper.make_node("Mul", [f"new_m{number}", "rate"], [f"u{number}"]),
            helper.make_node("Sub", [f"w{number}", f"u{number}"], [f"new_w{number}"]),
        ]
        inner |= {f"{name}{number}": ("float", shape) for name in ("dw", "t", "u")}
        outputs |= {f"new_{name}{number}": ("float", shape) for name in "mw"}
        inputs |= {f"{name}{number}": ("float", shape) for name in "wm"} | {f"b{number}": ("float", shape[:1])}
    constants = {"share": 1 / batch, "zero": 0.0, "momentum": MOMENTUM, "rate": RATE}
    arrays = {name: np.array(value, np.float32) for name, value in constants.items()}
    return models.build(nodes, inputs, outputs, inner, arrays)


@pytest.mark.parametrize(
    "sizes", [(6, 40, 24, 5), pytest.param((64, 1024, 256, 10), marks=pytest.mark.slow)], ids=["small", "digits"]
)
def test_step_of_a_classifier(sizes: tuple[int, int, int, int]) -> None:
    model = training_step(*sizes)
    rng = np.random.default_rng(1)
    feeds = {
        info.name: (rng.standard_normal([d.dim_value for d in info.type.tensor_type.shape.dim]) / 8).astype(np.float32)
        for info in model.graph.input
    }
    compiled = compile_model(model, Options.resolve({"scheduler": "spill_opt"}, {}))
    got = machine.run(compiled, feeds)
    raw = run_reference(compiled.graph, feeds)
    for name in got:
        stored = name if name in raw else next(n for n in raw if n.startswith(f"{name}_Upload"))
        np.testing.assert_array_equal(got[name], raw[stored], err_msg=name)
    numbers = {n: half_to_float(v) if v.dtype == np.uint16 else v.view(np.float32) for n, v in got.items()}
    for name, exact in _exact(feeds).items():
        assert np.abs(numbers[name] - exact).max() < 0.01 * np.abs(exact).max(), name
    if sizes[0] == 64:
        assert compiled.timing.cycles < 16_000
        assert compiled.report["pe_lines"] < 2_000


def _exact(feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same step in double precision."""
    v = {name: data.astype(np.float64) for name, data in feeds.items()}
    y1 = v["x"] @ v["w1"].T + v["b1"]
    h = np.maximum(y1, 0)
    dy = (h @ v["w2"].T + v["b2"] - v["target"]) / len(h)
    gradients = {"1": ((dy @ v["w2"]) * (y1 > 0)).T @ v["x"], "2": dy.T @ h}
    found = {f"new_m{n}": MOMENTUM * v[f"m{n}"] + gradient for n, gradient in gradients.items()}
    return found | {f"new_w{n}": v[f"w{n}"] - RATE * found[f"new_m{n}"] for n in gradients}
