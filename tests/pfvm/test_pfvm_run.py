"""Running models: feeds, errors with their place, and the operation count (compiler.md 13)."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from compiler.pfvm import EvaluationError, FeedError, ModelError, PfvmProgram, UnknownOperatorError, flops, run
from compiler.pfvm.operators import OPERATORS


def model_of(*nodes: onnx.NodeProto, opset: int = 20, shape: tuple[int, ...] = (2, 3)) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_empty_tensor_value_info("y")
    weight = numpy_helper.from_array(np.ones((3, 3), np.float32), "w")
    graph = helper.make_graph(list(nodes), "g", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


RELU = model_of(helper.make_node("Relu", ["x"], ["y"], name="here"))


def test_program_runs_many_times_and_initializers_can_be_fed() -> None:
    program = PfvmProgram(model_of(helper.make_node("MatMul", ["x", "w"], ["y"])))
    x = torch.rand(2, 3)
    assert torch.allclose(program({"x": x})["y"], x @ torch.ones(3, 3))
    assert torch.allclose(program({"x": x, "w": torch.eye(3)})["y"], x)
    assert torch.allclose(program({"x": x})["y"], x @ torch.ones(3, 3))


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({}, "input 'x' is missing"),
        ({"x": torch.rand(2, 3), "xx": torch.rand(1)}, "did you mean 'x'"),
        ({"x": torch.rand(2, 4)}, r"shape \(2, 3\), got \(2, 4\)"),
        ({"x": torch.ones(2, 3, dtype=torch.int64)}, "torch.float32, got torch.int64"),
    ],
)
def test_wrong_feeds(feeds: dict[str, torch.Tensor], words: str) -> None:
    with pytest.raises(FeedError, match=words):
        run(RELU, feeds)


def test_unknown_operator_has_name_and_place() -> None:
    node = helper.make_node("Relux", ["x"], ["y"], name="relu_3")
    node.metadata_props.add(key="source", value="net.py:7")
    with pytest.raises(UnknownOperatorError, match=r"did you mean 'Relu'") as caught:
        run(model_of(node), {"x": torch.rand(2, 3)})
    assert caught.value.operator == "Relux"
    assert caught.value.place == "node 'relu_3' (net.py:7)"


def test_failing_operator_has_name_and_place() -> None:
    with pytest.raises(EvaluationError, match="'bad'"):
        run(model_of(helper.make_node("MatMul", ["x", "x"], ["y"], name="bad")), {"x": torch.rand(2, 3)})
    with pytest.raises(EvaluationError, match="2 results are asked for"):
        node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[1])
        run(model_of(node, shape=(1, 1, 3)), {"x": torch.rand(1, 1, 3)})


def test_old_models_and_types_are_refused() -> None:
    with pytest.raises(ModelError, match="operator set 11"):
        run(model_of(helper.make_node("Relu", ["x"], ["y"]), opset=11), {"x": torch.rand(2, 3)})
    with pytest.raises(EvaluationError, match="UINT64 is not supported"):
        cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.UINT64)
        run(model_of(cast), {"x": torch.rand(2, 3)})


def test_bfloat16_constants() -> None:
    values = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    raw = values.view(torch.int16).numpy().tobytes()
    constant = helper.make_tensor("c", TensorProto.BFLOAT16, [2], raw, raw=True)
    model = model_of(helper.make_node("Constant", [], ["y"], value=constant))
    assert torch.equal(run(model, {"x": torch.rand(2, 3)})["y"], values)


@pytest.mark.parametrize(
    ("node", "shape", "expected"),
    [
        (helper.make_node("Relu", ["x"], ["y"]), (2, 3), 12),
        (helper.make_node("Gemm", ["x", "w"], ["y"]), (2, 3), 2 * 2 * 3 * 3),
        (helper.make_node("Gemm", ["x", "w", "w"], ["y"], alpha=2.0), (3, 3), 2 * 27 + 9 + 9),
        (helper.make_node("Gemm", ["x", "w"], ["y"], transA=1), (3, 2), 2 * 2 * 3 * 3),
        (helper.make_node("MatMul", ["x", "w"], ["y"]), (5, 2, 3), 2 * 5 * 2 * 3 * 3),
        (helper.make_node("Conv", ["x", "k", "b"], ["y"], kernel_shape=[3, 3]), (1, 2, 5, 5), 9 * 4 * (2 * 18 + 1)),
        (helper.make_node("ArgMax", ["x"], ["y"], axis=1), (2, 3), 2),
        (helper.make_node("Equal", ["x", "x"], ["y"]), (2, 3), 12),
        (helper.make_node("ReduceSum", ["x"], ["y"]), (2, 3), 6),
        (helper.make_node("Softmax", ["x"], ["y"]), (2, 3), 2 * 6 + 2 * 2),
        (helper.make_node("Sum", ["x", "x", "x"], ["y"]), (2, 3), 12),
        (helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2]), (1, 1, 3, 3), 4 * 3),
        (helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0]), (2, 3), 0),
        (helper.make_node("Det", ["x"], ["y"]), (5, 3, 3), 5),
    ],
)
def test_operation_count(node: onnx.NodeProto, shape: tuple[int, ...], expected: int) -> None:
    model = model_of(node, shape=shape)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((4, 2, 3, 3), np.float32), "k"))
    model.graph.initializer.append(numpy_helper.from_array(np.ones(4, np.float32), "b"))
    assert flops(onnx.shape_inference.infer_shapes(model)) == expected


def test_operation_count_needs_shapes() -> None:
    with pytest.raises(ModelError, match="shape of value 'y'"):
        flops(RELU)


def test_records_are_unique() -> None:
    assert all(operator.key == key for key, operator in OPERATORS.items())
