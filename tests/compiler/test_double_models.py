"""Whole graphs in double precision: the bits of the references under several schedulers, whole and cut in time, and the
numbers of NumPy to nearly all of their bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import helper

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.graph import decode
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models
from tests.compiler.random_graphs import OPERATORS, Drawn, graphs
from tests.compiler.test_random_graphs import check, few
from tests.compiler.test_train_step import MOMENTUM, RATE, training_step

Feeds = dict[str, np.ndarray[Any, Any]]


def _run(model: onnx.ModelProto, feeds: Feeds, **options: Any) -> tuple[Compiled, Feeds]:
    """The compiled program and its outputs, which have the reference's bits."""
    compiled = compile_model(model, Options.resolve({"float_dtype": "double", **options}, {}))
    got = machine.run(compiled, feeds)
    raw = run_reference(compiled.graph, feeds)
    for name, stored in compiled.stored.items():
        np.testing.assert_array_equal(got[name], raw[stored], err_msg=name)
    return compiled, {name: decode(bits, compiled.outputs[name].dtype) for name, bits in got.items()}


@pytest.mark.parametrize("kind", OPERATORS)
def test_random_graphs(kind: str) -> None:
    @few(2)
    @given(graphs(limit=1024, kinds=(kind, "unary", "binary")))
    def run(drawn: Drawn) -> None:
        check(drawn, {"float_dtype": "double"})

    run()


def test_training_step_to_thirteen_digits() -> None:
    model = training_step(6, 40, 24, 5)
    rng = np.random.default_rng(1)
    feeds = {
        info.name: (rng.standard_normal([d.dim_value for d in info.type.tensor_type.shape.dim]) / 8).astype(np.float32)
        for info in model.graph.input
    }
    _, got = _run(model, feeds, scheduler="spill_opt")
    v = {name: data.astype(np.float64) for name, data in feeds.items()}
    y1 = v["x"] @ v["w1"].T + v["b1"]
    h = np.maximum(y1, 0)
    dy = (h @ v["w2"].T + v["b2"] - v["target"]) * np.float64(np.float32(1 / len(h)))
    gradients = {"1": ((dy @ v["w2"]) * (y1 > 0)).T @ v["x"], "2": dy.T @ h}
    for n, gradient in gradients.items():
        momentum = np.float64(np.float32(MOMENTUM)) * v[f"m{n}"] + gradient
        np.testing.assert_allclose(got[f"new_m{n}"], momentum, rtol=0, atol=1e-14)
        np.testing.assert_allclose(got[f"new_w{n}"], v[f"w{n}"] - np.float64(np.float32(RATE)) * momentum, atol=1e-14)


def test_classifier() -> None:
    model = models.mlp(131, [45], 32, 10, logits=True, seed=1)
    rng = np.random.default_rng(2)
    feeds = {"x": rng.random((131, 45), dtype=np.float32), "t": rng.integers(0, 10, 131)}
    _, got = _run(model, feeds)
    assert int(got["correct"]) == int((got["addmm_1"].argmax(axis=1) == feeds["t"]).sum())


@pytest.mark.parametrize("scheduler", ["reuse_consecutive", "spill_opt"])
def test_sum_and_product_cut_in_time(scheduler: str) -> None:
    """Partial sums of the slices are added in double precision; Int results of comparisons are cut alike."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((301, 37)).astype(np.float32)
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["s"]),
        helper.make_node("ReduceSum", ["s", "axes"], ["columns"], keepdims=0),
        helper.make_node("Greater", ["s", "x"], ["more"]),
        helper.make_node("Where", ["more", "s", "x"], ["y"]),
    ]
    outputs = {"columns": ("float", [37]), "y": ("float", [301, 37])}
    inner = {"s": ("float", [301, 37]), "more": ("bool", [301, 37])}
    model = models.build(nodes, {"x": ("float", x.shape)}, outputs, inner, {"axes": np.array([0])})
    compiled, got = _run(model, {"x": x}, scheduler=scheduler, sram_budget=0.02)
    assert any(value.layout.num_slices > 1 for value in compiled.graph.values.values() if value.layout)
    square = x.astype(np.float64) ** 2
    np.testing.assert_array_equal(got["y"], np.where(square > x, square, x))
    np.testing.assert_allclose(got["columns"], square.sum(axis=0), rtol=2.0**-45)


def test_convolution_and_pooling() -> None:
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((3, 2, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    x = rng.standard_normal((2, 2, 8, 6)).astype(np.float32)
    inner = {"c": ("float", [2, 3, 8, 6])}
    outputs = {"y": ("float", [2, 3, 4, 3])}
    model = models.build(nodes, {"x": ("float", x.shape)}, outputs, inner, {"w": weight})
    _, got = _run(model, {"x": x})
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    conv = np.einsum("bchwij,ocij->bohw", windows, weight.astype(np.float64))
    np.testing.assert_allclose(got["y"], conv.reshape(2, 3, 4, 2, 3, 2).max(axis=(3, 5)), rtol=0, atol=1e-13)
