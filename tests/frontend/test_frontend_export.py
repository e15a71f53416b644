"""The exported model of the tutorial's evaluation step, and what export leaves untouched (seed 3.1.1)."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from compiler.frontend import PARAMETER, ROLE_KEY, Exported, export
from compiler.frontend.errors import TensorNameError
from compiler.pfvm import run
from tests.frontend.mnist_model import MNCoreClassifier, make_eval_step, mnist_sample


@pytest.fixture(scope="module")
def model() -> MNCoreClassifier:
    torch.manual_seed(0)
    return MNCoreClassifier().eval()


@pytest.fixture(scope="module")
def exported(model: MNCoreClassifier) -> Exported:
    return export(make_eval_step(model), mnist_sample(125))


def test_operators_follow_the_program(exported: Exported) -> None:
    assert [(node.op_type, node.output[0]) for node in exported.model.graph.node] == [
        ("Constant", "val_1_fx2onnx"),
        ("Reshape", "view_fx2onnx"),
        ("Transpose", "t_fx2onnx"),
        ("Gemm", "addmm_fx2onnx"),
        ("Relu", "relu_fx2onnx"),
        ("Transpose", "t_1_fx2onnx"),
        ("Gemm", "addmm_1_fx2onnx"),
        ("Constant", "val_2_fx2onnx"),
        ("Constant", "val_3_fx2onnx"),
        ("Reshape", "val_4_fx2onnx"),
        ("ReduceMax", "getitem_fx2onnx"),
        ("ArgMax", "getitem_1_fx2onnx"),
        ("Equal", "eq_fx2onnx"),
        ("Cast", "convert_element_type_default_fx2onnx"),
        ("ReduceSum", "correct"),
    ]
    gemm = exported.model.graph.node[3]
    assert list(gemm.input) == ["view_fx2onnx", "t_fx2onnx", "attr_1"]


def test_signature(exported: Exported, model: MNCoreClassifier) -> None:
    graph = exported.model.graph
    assert [value.name for value in graph.input] == exported.inputs == ["x", "t"]
    assert [value.name for value in graph.output] == exported.outputs == ["correct"]
    assert list(exported.params) == ["attr_0", "attr_1", "attr_2", "attr_3"]
    assert all(mine is theirs for mine, theirs in zip(exported.params.values(), model.parameters(), strict=True))
    assert not exported.updates and not exported.unused_inputs
    marked = [v.name for v in graph.value_info for p in v.metadata_props if (p.key, p.value) == (ROLE_KEY, PARAMETER)]
    assert marked == list(exported.params)


def test_model_is_valid_and_free_of_paths(exported: Exported) -> None:
    onnx.checker.check_model(exported.model, full_check=True)
    assert exported.model.producer_name == "fx2onnx"
    assert b"site-packages" not in exported.model.SerializeToString()
    sources = [prop.value for prop in exported.model.graph.node[3].metadata_props if prop.key == "source"]
    assert len(sources) == 1 and sources[0].startswith("mnist_model.py:")


def test_values_match_torch(exported: Exported, model: MNCoreClassifier) -> None:
    sample = mnist_sample(125)
    expected = make_eval_step(model)(sample)["correct"]
    assert torch.equal(run(exported.model, sample)["correct"], expected)


def test_warm_export_is_quick(exported: Exported, model: MNCoreClassifier) -> None:
    start = time.process_time()
    export(make_eval_step(model), mnist_sample(125))
    assert time.process_time() - start < 3


def test_export_is_deterministic(exported: Exported, model: MNCoreClassifier) -> None:
    again = export(make_eval_step(model), mnist_sample(125))
    assert again.model.SerializeToString(deterministic=True) == exported.model.SerializeToString(deterministic=True)


def test_names_of_tensors(model: MNCoreClassifier) -> None:
    names = {id(tensor): name.replace(".", "_") for name, tensor in model.named_parameters()}
    result = export(make_eval_step(model), mnist_sample(4), tensor_names=lambda t: names.get(id(t)))
    assert list(result.params) == ["linear1_weight", "linear1_bias", "linear2_weight", "linear2_bias"]
    partly = {id(model.linear1.bias): "bias"}
    result = export(make_eval_step(model), mnist_sample(4), tensor_names=lambda t: partly.get(id(t)))
    assert list(result.params) == ["attr_0", "bias", "attr_1", "attr_2"]


@pytest.mark.parametrize("name", ["same", "x", "correct"])
def test_clash_of_names(model: MNCoreClassifier, name: str) -> None:
    with pytest.raises(TensorNameError, match=f"'{name}'"):
        export(make_eval_step(model), mnist_sample(4), tensor_names=lambda t: name)


def test_unused_inputs_are_allowed(model: MNCoreClassifier) -> None:
    result = export(make_eval_step(model), {"idle": torch.zeros(3), **mnist_sample(4)})
    assert result.inputs == ["x", "t"] and result.unused_inputs == ["idle"]
    assert [value.name for value in result.model.graph.input] == ["x", "t"]


def test_random_state_and_module_are_unchanged() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5)).train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    states = (torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[index]

    def step(inp: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        random.random(), np.random.rand(), torch.rand(3)  # drawn for nothing
        return {"y": net[0](inp["x"]) + 0 * inp["x"].new_zeros(3).sum()}

    export(step, {"x": torch.ones(2, 3)})
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.random.get_state()[1].tolist() == states[2]  # type: ignore[index]
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert all(parameter.grad is None for parameter in net.parameters())


def test_module_attributes_are_put_back() -> None:
    class Keeps(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.last: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            self.last = x * 2
            return self.last

    net = Keeps()
    export(lambda inp: {"y": net(inp["x"])}, {"x": torch.ones(2)})
    assert net.calls == 0 and net.last is None


def test_values_of_many_origins() -> None:
    """Outputs that are inputs, parameters, repeated, or constants; tensors made on the way."""
    closure = torch.arange(3.0)
    array = np.eye(3, dtype=np.float32)

    def step(inp: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        x = inp["x"]
        literal = torch.tensor([1.5, 2.5])
        literal.add_(1)
        made = torch.zeros(2, 3)
        made[1] = x[0]
        return {
            "same": x,
            "closure": closure,
            "closure_again": closure,
            "twice": x + 1,
            "constant": literal * 2,
            "made": made,
            "numpy": x @ torch.from_numpy(array),
            "scalar": x.sum() + torch.arange(4).sum(),
        }

    sample = {"x": torch.rand(2, 3)}
    result = export(step, sample)
    onnx.checker.check_model(result.model, full_check=True)
    assert list(result.params.values()) == [closure] or result.params["attr_0"] is closure
    values = run(result.model, sample)
    for name, expected in step(sample).items():
        assert torch.equal(values[name], expected) and values[name].dtype == expected.dtype, name


def test_function_may_change_its_mapping() -> None:
    def step(inp: dict[str, Any]) -> dict[str, torch.Tensor]:
        inp["pair"] = (inp["x"], 2)
        value, factor = inp["pair"]
        return {"y": value * factor, "z": inp.get("absent", value) + 0}

    sample = {"x": torch.ones(2)}
    assert export(step, sample).inputs == ["x"]
    assert list(sample) == ["x"]


def test_loss_as_output_stays_one_operator(model: MNCoreClassifier) -> None:
    def step(inp: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"loss": model(inp["x"], inp["t"])["loss"]}

    sample = mnist_sample(4)
    result = export(step, sample)
    assert "NegativeLogLikelihoodLoss" in [node.op_type for node in result.model.graph.node]
    assert torch.allclose(run(result.model, sample)["loss"], step(sample)["loss"])


def test_one_tensor_may_stand_for_two_inputs_of_the_sample() -> None:
    same = torch.zeros(3)
    exported = export(lambda inp: {"y": inp["a"] - inp["b"]}, {"a": same, "b": same})
    assert exported.inputs == ["a", "b"]
