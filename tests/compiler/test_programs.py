"""Compiled programs on the simulated chip against the NumPy references, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models

OPTIONS = Options.resolve({}, {})


def _check(compiled: Compiled, feeds: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    got = machine.run(compiled, feeds)
    raw = run_reference(compiled.graph, feeds)
    producers = {name: node for node in compiled.graph.nodes for name in node.outputs}
    for name in got:
        stored = name if name in producers else next(n for n in raw if n.startswith(f"{name}_Upload"))
        np.testing.assert_array_equal(got[name], raw[stored], err_msg=name)
    return got


@pytest.mark.parametrize(
    "batch, image, hidden, classes, bias",
    [
        (125, [1, 32, 32], 256, 10, True),
        (64, [784], 100, 10, True),
        (3, [20], 16, 2, False),
        (200, [300], 300, 40, True),
        (300, [16], 512, 17, False),
    ],
)
def test_logits_and_count_of_a_classifier(batch: int, image: list[int], hidden: int, classes: int, bias: bool) -> None:
    model = models.mlp(batch, image, hidden, classes, logits=True, bias=bias, seed=batch)
    rng = np.random.default_rng(7)
    feeds = {"x": rng.random((batch, *image), dtype=np.float32), "t": rng.integers(0, classes, batch)}
    got = _check(compile_model(model, OPTIONS), feeds)
    assert got["addmm_1"].shape == (batch, classes)


@pytest.mark.parametrize("scheduler", ["always_from_dram", "reuse_consecutive", "spill_opt"])
@pytest.mark.parametrize("planner", ["lpz", "legacy"])
def test_schedulers_and_planners_agree_with_the_reference(scheduler: str, planner: str) -> None:
    model = models.mlp(125, [1, 32, 32], 256, 10, logits=True)
    compiled = compile_model(model, Options.resolve({"scheduler": scheduler, "layout_planner": planner}, {}))
    if scheduler != "always_from_dram":  # where the ways to spread products are close
        assert any(node.attrs.get("banks") for node in compiled.graph.nodes) == (planner == "lpz")
    rng = np.random.default_rng(8)
    _check(compiled, {"x": rng.random((125, 1, 32, 32), dtype=np.float32), "t": rng.integers(0, 10, 125)})


def test_extreme_inputs_keep_bits() -> None:
    """Zeros, tiny and large values: block exponents that flush neighbours, negative zeros after relu, equal logits."""
    model = models.mlp(70, [40], 32, 5, logits=True, bias=False)
    rng = np.random.default_rng(9)
    x = (rng.standard_normal((70, 40)) * np.exp2(rng.integers(-20, 10, (70, 40)))).astype(np.float32)
    x[3:9] = 0
    _check(compile_model(model, OPTIONS), {"x": x, "t": np.zeros(70, np.int64)})


@pytest.mark.parametrize("rows, columns", [(5, 7), (64, 16), (130, 50)])
def test_row_maximum(rows: int, columns: int) -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=0),
        helper.make_node("ArgMax", ["x"], ["i"], axis=-1, keepdims=0),
    ]
    model = models.build(
        nodes,
        {"x": ("float", [rows, columns])},
        {"y": ("float", [rows]), "i": ("int", [rows])},
        constants={"axes": np.array([1])},
    )
    rng = np.random.default_rng(10)
    x = rng.integers(-3, 4, (rows, columns)).astype(np.float32) / 4
    x[0] = -0.0
    got = _check(compile_model(model, OPTIONS), {"x": x})
    np.testing.assert_array_equal(got["i"], x.argmax(axis=1))


@pytest.mark.parametrize("shape", [(125,), (64, 12), (9, 3, 5)])
def test_sums_of_integers_and_singles(shape: tuple[int, ...]) -> None:
    nodes = [
        helper.make_node("ReduceSum", ["a"], ["s"], keepdims=0),
        helper.make_node("ReduceSum", ["b"], ["f"], keepdims=0),
    ]
    model = models.build(nodes, {"a": ("int", shape), "b": ("float", shape)}, {"s": ("int", []), "f": ("float", [])})
    rng = np.random.default_rng(11)
    feeds = {"a": rng.integers(-1000, 1000, shape), "b": rng.standard_normal(shape).astype(np.float32)}
    got = _check(compile_model(model, OPTIONS), feeds)
    assert int(got["s"].view(np.int32)) == feeds["a"].sum()


def test_casts_between_single_and_integer() -> None:
    nodes = [
        helper.make_node("Cast", ["a"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["b"], ["i"], to=TensorProto.INT64),
    ]
    model = models.build(nodes, {"a": ("int", [70]), "b": ("float", [70])}, {"f": ("float", [70]), "i": ("int", [70])})
    rng = np.random.default_rng(12)
    a = rng.integers(-(2**31), 2**31, 70)
    a[:4] = [2**31 - 1, -(2**31), 16777217, -16777219]
    b = (rng.standard_normal(70) * 10.0 ** rng.integers(-3, 11, 70)).astype(np.float32)
    _check(compile_model(model, OPTIONS), {"a": a, "b": b})


def test_transposed_input_moves_nothing() -> None:
    nodes = [helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0]), helper.make_node("Gemm", ["xt", "w"], ["y"])]
    rng = np.random.default_rng(13)
    model = models.build(
        nodes,
        {"x": ("float", [30, 10])},
        {"y": ("float", [10, 20])},
        {"xt": ("float", [10, 30])},
        {"w": rng.standard_normal((30, 20)).astype(np.float32)},
    )
    compiled = compile_model(model, OPTIONS)
    assert not any("LayoutSwitch" in node.op_type for node in compiled.graph.nodes)
    _check(compiled, {"x": rng.standard_normal((30, 10)).astype(np.float32)})


def test_values_are_spilled_when_local_memory_is_full() -> None:
    """Three large relus of one input that are all needed at the end: with a small budget some wait in DRAM."""
    shape = [64, 512]
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    nodes += [helper.make_node("ReduceSum", [name], [f"s_{name}"], keepdims=0) for name in ("x", "b", "a")]
    sums = {f"s_{name}": ("float", []) for name in ("x", "b", "a")}
    model = models.build(nodes, {"x": ("float", shape)}, sums, {"a": ("float", shape), "b": ("float", shape)})
    rng = np.random.default_rng(14)
    feeds = {"x": rng.standard_normal(shape).astype(np.float32)}
    counts = []
    for budget in (1.0, 0.04):
        options = Options.resolve({"scheduler": "spill_opt", "sram_budget": budget}, {})
        compiled = compile_model(model, options)
        _check(compiled, feeds)
        counts.append(sum(node.op_type == "MNCoreUpload" for node in compiled.graph.nodes))
    assert counts[0] == 0 < counts[1]
