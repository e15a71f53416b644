"""Values larger than the share of local memory: programs in time slices give the bits of the graph that is not cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from compiler.artifacts import write_artifacts
from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.errors import DoesNotFit, TooManySlices
from compiler.graph import encode, parse_l3ir, to_l3ir
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models

SCHEDULERS = ("always_from_dram", "reuse_consecutive", "spill_opt")
Feeds = dict[str, NDArray[Any]]


def _compile(model: onnx.ModelProto, **options: Any) -> Compiled:
    return compile_model(model, Options.resolve(options, {}))


def _stored(compiled: Compiled, raw: Feeds, name: str) -> NDArray[Any]:
    made = {output for node in compiled.graph.nodes for output in node.outputs}
    return raw[name if name in made else next(n for n in raw if n.startswith(f"{name}_Upload"))]


def _check(model: onnx.ModelProto, feeds: Feeds, **options: Any) -> Compiled:
    """The sliced program against its own references, and these against the graph as a whole."""
    compiled = _compile(model, **options)
    got, raw = machine.run(compiled, feeds), run_reference(compiled.graph, feeds)
    whole = _compile(model, layout_planner="legacy")
    uncut = run_reference(whole.graph, feeds)
    assert slices(whole) == {}
    for name in got:
        np.testing.assert_array_equal(got[name], _stored(compiled, raw, name), err_msg=name)
        if options.get("layout_planner") != "lpz":  # whose products by banks round otherwise
            np.testing.assert_array_equal(got[name], _stored(whole, uncut, name), err_msg=name)
    return compiled


def slices(compiled: Compiled) -> dict[str, int]:
    """Slices of the inputs and parameters that are cut."""
    nodes = compiled.graph.nodes
    return {node.inputs[0]: len(node.outputs) for node in nodes if node.op_type == "MNCoreInputSplit"}


def count(compiled: Compiled, op_type: str) -> int:
    return sum(node.op_type == op_type for node in compiled.graph.nodes)


def _relus(shape: list[int]) -> onnx.ModelProto:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    return models.build(nodes, {"x": ("float", shape)}, {"b": ("float", shape)}, {"a": ("float", shape)})


def _noise(shape: list[int], seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    "scheduler, shape, budget, axis",
    [
        *((scheduler, [301, 67], 0.01, 0) for scheduler in SCHEDULERS),
        ("reuse_consecutive", [300, 64], 0.01, 0),
        ("spill_opt", [3, 1031], 0.02, 1),
        ("always_from_dram", [2, 151, 31], 0.25, 1),
        ("reuse_consecutive", [4001], 0.01, 0),
    ],
)
def test_chain_of_relus(scheduler: str, shape: list[int], budget: float, axis: int) -> None:
    feeds = {"x": _noise(shape)}
    compiled = _check(_relus(shape), feeds, scheduler=scheduler, sram_budget=budget)
    number = slices(compiled)["x"]
    layout = compiled.inputs["x"].layout
    assert layout.num_slices == number > 1
    assert next(sub.level == "Time" for sub in layout.layout.axes[axis])
    assert max(compiled.graph.values[n].num_lw for node in compiled.graph.nodes for n in node.used) <= 2048 * budget
    if scheduler != "always_from_dram":
        assert count(compiled, "MNCoreUpload") == count(compiled, "MNCoreDownload") == number
    bits = encode(feeds["x"], compiled.inputs["x"].dtype)
    sign = bits.dtype.type(1 << 31)
    got = machine.run(compiled, feeds)["b"]
    np.testing.assert_array_equal(got, np.where(bits & sign != 0, sign, bits))


@pytest.mark.parametrize(
    "scheduler, budget, planner",
    [
        *((scheduler, 0.04, "legacy") for scheduler in SCHEDULERS),
        ("spill_opt", 0.02, "legacy"),
        pytest.param("reuse_consecutive", 0.02, "lpz", marks=pytest.mark.slow),
    ],
)
def test_classifier_with_little_local_memory(scheduler: str, budget: float, planner: str) -> None:
    """Rows are cut where that helps; labels and comparison follow, the count is taken of the whole comparison."""
    model = models.mlp(331, [90], 64, 10, logits=True, seed=1)
    rng = np.random.default_rng(2)
    feeds = {"x": rng.random((331, 90), dtype=np.float32), "t": rng.integers(0, 10, 331)}
    compiled = _check(model, feeds, scheduler=scheduler, layout_planner=planner, sram_budget=budget)
    assert slices(compiled)


def test_annealing_works_on_slices() -> None:
    options = {"scheduler": "auto_recompute_sa", "envs": {"CODEGEN_SA_STEPS": 100}}
    compiled = _check(_relus([301, 67]), {"x": _noise([301, 67])}, sram_budget=0.01, **options)
    assert slices(compiled)["x"] == 3


def test_rows_beyond_the_accumulators_of_one_pass() -> None:
    rng = np.random.default_rng(3)
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)
    constants = {"w": _noise([16, 16], 4), "b": _noise([16], 5)}
    model = models.build([node], {"x": ("float", [9973, 16])}, {"y": ("float", [9973, 16])}, constants=constants)
    feeds = {"x": rng.standard_normal((9973, 16)).astype(np.float32)}
    compiled = _compile(model, layout_planner="legacy")
    assert slices(compiled) == {"x": 2}
    raw = run_reference(compiled.graph, feeds)
    np.testing.assert_array_equal(machine.run(compiled, feeds)["y"], _stored(compiled, raw, "y"))


def test_outputs_beyond_local_memory_cut_the_weight() -> None:
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)
    constants = {"w": _noise([700, 20], 6), "b": _noise([700], 7)}
    model = models.build([node], {"x": ("float", [5, 20])}, {"y": ("float", [5, 700])}, constants=constants)
    compiled = _check(model, {"x": _noise([5, 20])}, sram_budget=0.02, layout_planner="legacy")
    assert slices(compiled).keys() == {"w", "b"}


@pytest.mark.parametrize("scheduler, kind", [("always_from_dram", "int"), ("reuse_consecutive", "float")])
def test_sum_of_partial_sums(scheduler: str, kind: str) -> None:
    """Every slice gives a sum of its own; they are added up one by one."""
    shape = [211, 70]
    node = helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0)
    model = models.build([node], {"x": (kind, shape)}, {"s": (kind, [])})
    x = np.random.default_rng(9).integers(-99, 99, shape)
    feeds = {"x": x if kind == "int" else x.astype(np.float32)}
    compiled = _check(model, feeds, scheduler=scheduler, sram_budget=0.008)
    assert count(compiled, "Add") == slices(compiled)["x"] - 1 > 1
    total = machine.run(compiled, feeds)["s"]
    assert total == encode(np.asarray(x.sum()), compiled.outputs["s"].dtype)


def test_transposition_and_reshape_carry_the_cut() -> None:
    shape = [3, 1, 700]
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Squeeze", ["a", "one"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=[1, 0]),
        helper.make_node("Relu", ["t"], ["y"]),
    ]
    inner = {"a": ("float", shape), "s": ("float", [3, 700]), "t": ("float", [700, 3])}
    model = models.build(
        nodes, {"x": ("float", shape)}, {"y": ("float", [700, 3])}, inner, {"one": np.array([1], np.int64)}
    )
    compiled = _check(model, {"x": _noise(shape)}, sram_budget=0.02)
    assert count(compiled, "MNCoreDownload") == slices(compiled)["x"] > 1


def test_a_value_that_is_read_whole_and_in_slices() -> None:
    """The comparison is cut for its long casts; the integer input is also counted whole."""
    shape = [400]
    nodes = [
        helper.make_node("Equal", ["a", "b"], ["e"]),
        helper.make_node("ReduceSum", ["a"], ["s"], keepdims=0),
        helper.make_node("Cast", ["e"], ["y"], to=TensorProto.FLOAT),
    ]
    inputs = {"a": ("int", shape), "b": ("int", shape)}
    model = models.build(nodes, inputs, {"y": ("float", shape), "s": ("int", [])}, {"e": ("bool", shape)})
    rng = np.random.default_rng(8)
    feeds = {"a": rng.integers(0, 3, 400), "b": rng.integers(0, 3, 400)}
    compiled = _check(model, feeds, sram_budget=0.003)
    assert slices(compiled) == {} or count(compiled, "MNCoreSlicedDownload")


def test_more_slices_than_allowed() -> None:
    with pytest.raises(TooManySlices, match=r"'a' \(4099, 1024\) needs 5 time slices along axis 0.*SLICE allows 4"):
        _compile(_relus([4099, 1024]), envs={"CODEGEN_MAX_TIME_SLICE": 4})


def test_what_cannot_be_cut_is_named() -> None:
    node = helper.make_node("ArgMax", ["x"], ["y"], axis=1, keepdims=0)
    model = models.build([node], {"x": ("float", [4, 30000])}, {"y": ("int", [4])})
    with pytest.raises(DoesNotFit, match=r"'x' \(4, 30000\) needs \d+ long words.*ArgMax 'y' cannot be cut"):
        _compile(model)


def test_graph_before_the_fork(tmp_path: Path) -> None:
    options = Options.resolve({"sram_budget": 0.01}, {})
    compiled = compile_model(_relus([301, 67]), options)
    write_artifacts(compiled, options, tmp_path)
    for name in ("l3ir.txt", "time_slice.txt"):
        text = (tmp_path / name).read_text()
        assert to_l3ir(parse_l3ir(text)) == text
    lines = (tmp_path / "time_slice.txt").read_text().splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    assert heads[:2] == ["MNCoreDownload(x) -> (x_Download_0)", "Relu(x_Download_0) -> (a)"]
    assert all("shape=301,67" in line and "((3_Time:1," in line for line in lines if line.startswith(" "))
    whole = compile_model(_relus([3, 7]), options)
    write_artifacts(whole, options, tmp_path / "whole")
    assert (tmp_path / "whole" / "time_slice.txt").read_text() == (tmp_path / "whole" / "l3ir.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("shape", [[4096, 1024], [3001, 2570]])
def test_sizes_beyond_local_memory(scheduler: str, shape: list[int]) -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    model = models.build(
        nodes, {"x": ("float", shape), "b": ("float", shape[1:])}, {"y": ("float", shape)}, {"a": ("float", shape)}
    )
    feeds = {"x": _noise(shape), "b": _noise(shape[1:])}
    compiled = _compile(model, scheduler=scheduler)
    assert slices(compiled)["x"] > 1
    raw = run_reference(compiled.graph, feeds)
    np.testing.assert_array_equal(machine.run(compiled, feeds)["y"], _stored(compiled, raw, "y"))


@pytest.mark.slow
def test_sum_of_three_million_elements() -> None:
    node = helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0)
    model = models.build([node], {"x": ("int", [3001, 1000])}, {"s": ("int", [])})
    x = np.random.default_rng(10).integers(-(2**20), 2**20, (3001, 1000))
    compiled = _compile(model)
    assert slices(compiled)["x"] > 1
    assert int(machine.run(compiled, {"x": x})["s"].view(np.int32)) == int(x.sum().astype(np.int32))


@pytest.mark.slow
def test_product_of_five_thousand_rows() -> None:
    node = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)
    model = models.build(
        [node], {"x": ("float", [5003, 512])}, {"y": ("float", [5003, 300])}, constants={"w": _noise([300, 512], 11)}
    )
    feeds = {"x": _noise([5003, 512])}
    compiled = _compile(model, sram_budget=0.25)
    assert slices(compiled)
    raw = run_reference(compiled.graph, feeds)
    np.testing.assert_array_equal(machine.run(compiled, feeds)["y"], _stored(compiled, raw, "y"))


def test_a_large_value_that_is_needed_along_two_axes_is_named() -> None:
    nodes = [helper.make_node("ArgMax", ["x"], [f"y{axis}"], axis=axis, keepdims=0) for axis in (0, 1)]
    outputs = {"y0": ("int", [300]), "y1": ("int", [301])}
    model = models.build(nodes, {"x": ("float", [301, 300])}, outputs)
    with pytest.raises(DoesNotFit, match=r"'x' \(301, 300\) is needed in time slices along axes 1 and 0"):
        _compile(model, sram_budget=0.03)
