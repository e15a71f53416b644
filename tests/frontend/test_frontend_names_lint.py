"""Names of tensors and the linter, the two things that scripts import from fx2onnx."""

from __future__ import annotations

import copy
import gc
import io
import weakref
from typing import Any

import pytest
import torch

from compiler.frontend.errors import TensorNameError
from compiler.fx2onnx import get_tensor_name, set_tensor_name
from compiler.fx2onnx.linter import LintLevel, LintResult, lint
from tests.frontend.mnist_model import MNCoreClassifier, make_eval_step, make_train_step, mnist_sample

Inputs = dict[str, Any]
SCALE = 2.0
OUTSIDE = torch.zeros(3)


def test_name_belongs_to_the_object() -> None:
    tensor = torch.nn.Parameter(torch.ones(2))
    assert get_tensor_name(tensor) is None
    set_tensor_name(tensor, "model@weight")
    assert get_tensor_name(tensor) == "model@weight"
    assert get_tensor_name(copy.deepcopy(tensor)) is None
    assert get_tensor_name(tensor.detach()) is None
    assert not vars(tensor)
    set_tensor_name(tensor, "other")
    assert get_tensor_name(tensor) == "other"


def test_name_keeps_nothing_alive() -> None:
    tensor = torch.ones(2)
    set_tensor_name(tensor, "short")
    alive = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert alive() is None


def test_bad_names() -> None:
    with pytest.raises(TensorNameError, match="non-empty string"):
        set_tensor_name(torch.ones(1), "")
    with pytest.raises(TensorNameError, match="got list"):
        set_tensor_name([1], "x")  # type: ignore[arg-type]


def rules(result: LintResult) -> list[str]:
    return [finding.rule for finding in result.findings]


def test_clean_function() -> None:
    result = lint(make_eval_step(MNCoreClassifier().eval()), (mnist_sample(4),))
    assert result.ok and not result.findings


def test_training_step_changes_outside_tensors() -> None:
    model = MNCoreClassifier().train()
    before = model.linear1.weight.detach().clone()
    result = lint(make_train_step(model, torch.optim.SGD(model.parameters(), 0.1)), (mnist_sample(4),))
    assert result.ok and rules(result) == ["outside-assignment"]
    assert result.findings[0].source is not None and result.findings[0].source.text == "optimizer.step()"
    assert torch.equal(before, model.linear1.weight)


def troubled(inp: Inputs) -> Inputs:
    x = inp["x"]
    total = x.sum().item()
    if x.max() > 0:
        total += 1
    OUTSIDE.add_(1)
    OUTSIDE[0] = 3
    x += 1
    y = x * total * SCALE
    return {"y": y[y > 0]}


def test_everything_is_found_in_one_run() -> None:
    result = lint(troubled, ({"x": torch.ones(3)},))
    assert not result.ok
    assert rules(result) == [
        "frozen-object",
        "python-scalar",
        "python-scalar",
        "outside-assignment",
        "outside-assignment",
        "input-assignment",
        "dynamic-shape",
    ]
    first = troubled.__code__.co_firstlineno
    lines = [finding.source.line - first for finding in result.findings if finding.source]
    assert lines == [2, 3, 5, 6, 7, 9]
    assert torch.equal(OUTSIDE, torch.zeros(3))


def test_level_and_dump() -> None:
    result = lint(troubled, ({"x": torch.ones(3)},), lint_level=LintLevel.ERROR)
    assert rules(result) == ["python-scalar", "python-scalar", "input-assignment", "dynamic-shape"]
    stream = io.StringIO()
    result.dump(stream)
    text = stream.getvalue()
    assert "total = x.sum().item()" in text and text.endswith("4 finding(s)\n")


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda inp: inp["x"], ({"x": torch.ones(1)},)),
        (lambda a, b: {"y": a}, ({"x": torch.ones(1)},)),
        (lambda a, b: {"y": a}, (torch.ones(1), torch.ones(1))),
        (lambda a: {"y": a}, (torch.ones(1),)),
        (lambda inp: {"y": 1}, ({"x": torch.ones(1)},)),
        (lambda inp: {"y": inp["x"]}, ({"x": 1},)),
    ],
)
def test_signature(function: Any, args: Any) -> None:
    assert rules(lint(function, args)) == ["signature"]


def test_failure_of_the_function() -> None:
    result = lint(lambda inp: {"y": inp["x"] @ inp["x"]}, ({"x": torch.ones(2, 3)},))
    assert rules(result) == ["trace"] and "RuntimeError" in result.findings[0].message
