"""The Compiled ONNX: the tutorial's graph, every pass alone, and that rewriting never changes a value (seed 3.1.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from compiler.frontend import PARAMETER, ROLE_KEY, export
from compiler.pfvm import PASSES, ModelError, apply_pass, flops, optimize, run
from tests.frontend.mnist_model import MNCoreClassifier, make_eval_step, mnist_sample

FLOATS = TensorProto.FLOAT


def kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def build(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, ...]],
    outputs: list[str],
    constants: dict[str, Any] | None = None,
    parameters: dict[str, Any] | None = None,
) -> onnx.ModelProto:
    """A model of float inputs; parameters are marked as the exporter marks them."""
    initializers = [
        numpy_helper.from_array(np.asarray(value), name)
        for name, value in {**(constants or {}), **(parameters or {})}.items()
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, FLOATS, shape) for name, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        initializers,
    )
    for name, value in (parameters or {}).items():
        info = helper.make_tensor_value_info(name, FLOATS, np.shape(value))
        info.metadata_props.add(key=ROLE_KEY, value=PARAMETER)
        graph.value_info.append(info)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    return onnx.shape_inference.infer_shapes(model)


@pytest.fixture(scope="module")
def eval_models() -> tuple[onnx.ModelProto, onnx.ModelProto, MNCoreClassifier]:
    torch.manual_seed(0)
    model = MNCoreClassifier().eval()
    exported = export(make_eval_step(model), mnist_sample(125))
    return exported.model, optimize(exported.model), model


def test_evaluation_step(eval_models: tuple[onnx.ModelProto, onnx.ModelProto, MNCoreClassifier]) -> None:
    exported, compiled, model = eval_models
    assert [(node.op_type, list(node.input), node.output[0], attributes(node)) for node in compiled.graph.node] == [
        ("Reshape", ["x", "val_1_fx2onnx"], "view_fx2onnx", {}),
        ("Gemm", ["view_fx2onnx", "attr_0", "attr_1"], "addmm_fx2onnx", {"transB": 1}),
        ("Relu", ["addmm_fx2onnx"], "relu_fx2onnx", {}),
        ("Gemm", ["relu_fx2onnx", "attr_2", "attr_3"], "addmm_1_fx2onnx", {"transB": 1}),
        ("ArgMax", ["addmm_1_fx2onnx"], "getitem_1_fx2onnx", {"axis": 1, "keepdims": 0}),
        ("Equal", ["getitem_1_fx2onnx", "t"], "eq_fx2onnx", {}),
        ("ChainerCastReduceSum", ["eq_fx2onnx"], "correct", {"to": TensorProto.INT64, "keepdims": 0}),
    ]
    names = [initializer.name for initializer in compiled.graph.initializer]
    assert names == ["attr_0", "attr_1", "attr_2", "attr_3", "val_1_fx2onnx"]
    assert {value.name for value in compiled.graph.value_info} >= {node.output[0] for node in compiled.graph.node[:-1]}
    onnx.checker.check_model(compiled, full_check=True)
    assert flops(compiled) == 66_273_875
    sample = mnist_sample(125)
    expected = make_eval_step(model)(sample)["correct"]
    assert torch.equal(run(compiled, sample)["correct"], expected)
    assert kinds(exported)[0] == "Constant"  # the given model is not changed


def test_second_optimisation_changes_nothing(
    eval_models: tuple[onnx.ModelProto, onnx.ModelProto, MNCoreClassifier],
) -> None:
    compiled = eval_models[1]
    assert optimize(compiled).SerializeToString(deterministic=True) == compiled.SerializeToString(deterministic=True)


def test_passes_report_and_dump(eval_models: tuple[onnx.ModelProto, onnx.ModelProto, MNCoreClassifier]) -> None:
    seen: list[tuple[int, str, int, int]] = []
    optimize(eval_models[0], on_pass=lambda i, p, n, model: seen.append((i, p.name, n, len(model.graph.node))))
    assert {name for _, name, _, _ in seen} >= {"fold_constants", "fold_transposes", "fuse_cast_reduce_sum"}
    assert all(count > 0 for _, _, count, _ in seen)
    assert [number for number, _, _, _ in seen] == sorted({number for number, _, _, _ in seen})
    assert seen[-1][3] == 7


def test_every_pass_has_its_own_name() -> None:
    names = [step.name for step in PASSES]
    assert len(set(names)) == len(names)
    with pytest.raises(KeyError):
        apply_pass("no_such_pass", build([helper.make_node("Relu", ["x"], ["y"])], {"x": (2,)}, ["y"]))


def test_fold_constants() -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value_ints=[6]),
        helper.make_node("Constant", [], ["b"], value_ints=[-1]),
        helper.make_node("Concat", ["a", "b"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
        helper.make_node("Add", ["y", "p2"], ["z"]),
        helper.make_node("Mul", ["p", "two"], ["p2"]),
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["rows"]),
        helper.make_node("CastLike", ["rows", "x"], ["rows_f"]),
        helper.make_node("Mul", ["z", "rows_f"], ["out"]),
    ]
    nodes.insert(4, nodes.pop(5))
    model = build(
        nodes, {"x": (3, 4)}, ["out"], {"two": np.float32(2), "zero": np.int64(0)}, {"p": np.ones(2, np.float32)}
    )
    folded = apply_pass("fold_constants", model)
    assert kinds(folded) == ["Reshape", "Mul", "Add", "Cast", "Mul"]
    assert kinds(optimize(model)) == ["Reshape", "Mul", "Add", "Mul"]
    shape = next(i for i in folded.graph.initializer if i.name == "shape")
    assert numpy_helper.to_array(shape).tolist() == [6, -1]
    x = torch.rand(3, 4)
    assert torch.equal(run(folded, {"x": x})["out"], run(model, {"x": x})["out"])


def test_large_expansions_are_not_folded() -> None:
    nodes = [helper.make_node("Expand", ["one", "shape"], ["big"]), helper.make_node("Add", ["x", "big"], ["y"])]
    constants = {"one": np.float32(1), "shape": np.array([512, 512])}
    model = build(nodes, {"x": (512, 512)}, ["y"], constants)
    assert kinds(optimize(model)) == ["Expand", "Add"]


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Identity", ["h"], ["g"]),
        helper.make_node("Cast", ["h"], ["g"], to=FLOATS),
        helper.make_node("Transpose", ["h"], ["g"], perm=[0, 1]),
        helper.make_node("Reshape", ["h", "shape"], ["g"]),
        helper.make_node("Expand", ["h", "shape"], ["g"]),
        helper.make_node("Concat", ["h"], ["g"], axis=0),
        helper.make_node("Sum", ["h"], ["g"]),
        helper.make_node("Dropout", ["h"], ["g"]),
    ],
    ids=lambda node: node.op_type,
)
def test_remove_identities(node: onnx.NodeProto) -> None:
    first, last = helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Neg", ["g"], ["y"])
    constants = {"shape": np.array([2, 3])}
    inside = build([first, node, last], {"x": (2, 3)}, ["y"], constants)
    assert kinds(apply_pass("remove_identities", inside)) == ["Relu", "Neg"]
    at_end = apply_pass("remove_identities", build([first, node], {"x": (2, 3)}, ["g"], constants))
    assert [(n.op_type, n.output[0]) for n in at_end.graph.node] == [("Relu", "g")]


def test_identities_that_must_stay() -> None:
    nodes = [
        helper.make_node("Identity", ["x"], ["a"]),
        helper.make_node("Identity", ["p"], ["b"]),
        helper.make_node("Relu", ["x"], ["c"]),
        helper.make_node("Identity", ["c"], ["d"]),
    ]
    model = build(nodes, {"x": (2,)}, ["a", "b", "c", "d"], parameters={"p": np.ones(2, np.float32)})
    compiled = optimize(model)
    assert kinds(compiled) == ["Identity", "Identity", "Relu", "Identity"]
    assert [value.name for value in compiled.graph.output] == ["a", "b", "c", "d"]


def test_transposes_cancel() -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 2, 0]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[2, 0, 1]),
        helper.make_node("Transpose", ["a"], ["c"], perm=[1, 0, 2]),
        helper.make_node("Relu", ["b"], ["y"]),
        helper.make_node("Relu", ["c"], ["z"]),
    ]
    model = build(nodes, {"x": (2, 3, 4)}, ["y", "z"])
    compiled = optimize(model)
    assert kinds(compiled) == ["Transpose", "Relu", "Relu"]
    x = torch.rand(2, 3, 4)
    for name, value in run(model, {"x": x}).items():
        assert torch.equal(run(compiled, {"x": x})[name], value)


@pytest.mark.parametrize(("bias", "fused"), [((4,), True), ((1, 4), True), ((3, 1), True), ((), True), ((3, 4), False)])
def test_matmul_and_add_become_gemm(bias: tuple[int, ...], fused: bool) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["b", "m"], ["y"])]
    weights = {"w": np.random.default_rng(0).random((5, 4), np.float32), "b": np.full(bias, 0.5, np.float32)}
    model = build(nodes, {"x": (3, 5)}, ["y"], parameters=weights)
    compiled = optimize(model)
    assert kinds(compiled) == (["Gemm"] if fused else ["MatMul", "Add"])
    x = torch.rand(3, 5)
    assert torch.allclose(run(compiled, {"x": x})["y"], run(model, {"x": x})["y"])


def test_product_used_twice_keeps_its_value() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["y"]),
        helper.make_node("Relu", ["m"], ["z"]),
    ]
    weights = {"w": np.ones((5, 4), np.float32), "b": np.ones(4, np.float32)}
    model = build(nodes, {"x": (3, 5)}, ["y", "z"], parameters=weights)
    assert kinds(optimize(model)) == ["MatMul", "Add", "Relu"]


@pytest.mark.parametrize("operator", ["Gemm", "MatMul"])
def test_transposed_operands_become_flags(operator: str) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0]),
        helper.make_node("Transpose", ["w"], ["wt"]),
        helper.make_node(operator, ["xt", "wt"], ["y"]),
    ]
    weight = np.random.default_rng(0).random((4, 5), np.float32)
    model = build(nodes, {"x": (5, 3)}, ["y"], parameters={"w": weight})
    compiled = optimize(model)
    assert kinds(compiled) == ["Gemm"]
    assert attributes(compiled.graph.node[0]) == {"transA": 1, "transB": 1}
    x = torch.rand(5, 3)
    assert torch.allclose(run(compiled, {"x": x})["y"], x.t() @ torch.from_numpy(weight).t())


def test_transposed_flag_is_taken_back() -> None:
    nodes = [
        helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]),
        helper.make_node("Gemm", ["x", "wt"], ["y"], transB=1),
    ]
    model = build(nodes, {"x": (3, 5)}, ["y"], parameters={"w": np.ones((5, 4), np.float32)})
    assert attributes(optimize(model).graph.node[0]) == {}


def test_cast_and_sum_need_a_sole_reader_and_known_axes() -> None:
    cast = helper.make_node("Cast", ["x"], ["c"], to=TensorProto.INT32)
    total = helper.make_node("ReduceSum", ["c", "axes"], ["y"], keepdims=0)
    model = build([cast, total], {"x": (2, 3)}, ["y"], {"axes": np.array([1])})
    fused = optimize(model)
    assert kinds(fused) == ["ChainerCastReduceSum"]
    assert attributes(fused.graph.node[0]) == {"to": TensorProto.INT32, "axes": [1], "keepdims": 0}
    assert [(entry.domain, entry.version) for entry in fused.opset_import] == [("", 20), ("mncore", 1)]
    also_output = build([cast, total], {"x": (2, 3)}, ["y", "c"], {"axes": np.array([1])})
    assert kinds(optimize(also_output)) == ["Cast", "ReduceSum"]
    none = helper.make_node("ReduceSum", ["c", "axes"], ["y"], noop_with_empty_axes=1)
    empty = build([cast, none], {"x": (2, 3)}, ["y"], {"axes": np.zeros(0, np.int64)})
    assert kinds(optimize(empty)) == ["Cast", "ReduceSum"]


def test_equal_nodes_and_dead_code() -> None:
    nodes = [
        helper.make_node("Exp", ["x"], ["a"]),
        helper.make_node("Exp", ["x"], ["b"]),
        helper.make_node("Log", ["x"], ["unused"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    model = build(nodes, {"x": (2,), "idle": (3,)}, ["y"], {"nobody": np.ones(2, np.float32)})
    compiled = optimize(model)
    assert [(n.op_type, list(n.input)) for n in compiled.graph.node] == [("Exp", ["x"]), ("Add", ["a", "a"])]
    assert [value.name for value in compiled.graph.input] == ["x", "idle"]
    assert not compiled.graph.initializer


def test_constants_are_shared_but_parameters_never() -> None:
    nodes = [
        helper.make_node("Add", ["x", "c1"], ["a"]),
        helper.make_node("Mul", ["a", "c2"], ["b"]),
        helper.make_node("Add", ["b", "p1"], ["c"]),
        helper.make_node("Mul", ["c", "p2"], ["y"]),
    ]
    same = np.ones(2, np.float32)
    model = build(nodes, {"x": (2,)}, ["y"], {"c1": same, "c2": same}, {"p1": same, "p2": same})
    assert [i.name for i in optimize(model).graph.initializer] == ["c1", "p1", "p2"]
    kept = optimize(model, share_equal_constants=False)
    assert [i.name for i in kept.graph.initializer] == ["c1", "c2", "p1", "p2"]


def test_dynamic_shape_is_refused() -> None:
    model = build([helper.make_node("Relu", ["x"], ["y"])], {"x": (2,)}, ["y"])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    model.graph.output[0].type.Clear()
    with pytest.raises(ModelError, match="'x' has no static shape"):
        optimize(model)


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.linear = nn.Conv2d(8, 8, 3, stride=2, groups=2), nn.Linear(72, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.conv1(x))), 2)
        result: torch.Tensor = self.linear(nn.functional.silu(self.conv2(x)).flatten(1))
        return result


_NETS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "convolution": (ConvNet, (2, 3, 16, 16)),
    "attention": (lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), (2, 6, 16)),
    "normalised": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4), nn.LogSoftmax(-1)),
        (3, 5, 8),
    ),
}


@pytest.mark.parametrize("name", _NETS)
def test_networks_keep_their_values(name: str) -> None:
    torch.manual_seed(3)
    make, shape = _NETS[name]
    net = make().eval()
    x = torch.randn(shape)
    exported = export(lambda inp: {"y": net(inp["x"])}, {"x": x}, training=False)
    compiled = optimize(exported.model)
    onnx.checker.check_model(compiled, full_check=True)
    assert set(kinds(compiled)).isdisjoint({"Constant", "Identity", "CastLike", "Shape"})
    with torch.no_grad():
        expected = net(x)
    for model in (exported.model, compiled):
        assert torch.allclose(run(model, {"x": x})["y"], expected, atol=1e-5)
