"""Every refusal of the exporter is typed, names the user's line and says what was expected."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

from compiler.frontend import FrontendError, export
from compiler.frontend.errors import (
    DataDependentError,
    DynamicShapeError,
    InputError,
    MissingInputError,
    MutationError,
    OutputError,
    TraceError,
    UnsupportedOperatorError,
)

SAMPLE = {"x": torch.ones(4, 3), "t": torch.zeros(4, dtype=torch.int64)}
Inputs = dict[str, Any]


def item(inp: Inputs) -> Inputs:
    return {"y": inp["x"] * inp["x"].sum().item()}


def branch(inp: Inputs) -> Inputs:
    if inp["x"].sum() > 0:
        return {"y": inp["x"]}
    return {"y": -inp["x"]}


def to_numpy(inp: Inputs) -> Inputs:
    return {"y": torch.from_numpy(inp["x"].numpy())}


def mask(inp: Inputs) -> Inputs:
    return {"y": inp["x"][inp["x"] > 0]}


def missing(inp: Inputs) -> Inputs:
    return {"y": inp["xx"]}


def wrong_shape(inp: Inputs) -> Inputs:
    return {"y": inp["x"] @ inp["x"]}


def no_translation(inp: Inputs) -> Inputs:
    return {"y": torch.linalg.svd(inp["x"])[1]}


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (item, DataDependentError, "contents of a tensor"),
        (branch, DataDependentError, "contents of a tensor"),
        (to_numpy, DataDependentError, "contents of a tensor"),
        (mask, DynamicShapeError, "nonzero"),
        (missing, MissingInputError, "did you mean 'x'"),
        (wrong_shape, TraceError, "RuntimeError"),
    ],
)
def test_error_names_the_line(function: Callable[[Inputs], Inputs], error: type[FrontendError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        export(function, SAMPLE)
    source = caught.value.source
    assert source is not None and source.file == __file__
    assert source.line == inspect.getsourcelines(function)[1] + 1
    assert source.function == function.__name__
    assert source.text in str(caught.value)


def test_operator_without_translation() -> None:
    with pytest.raises(UnsupportedOperatorError, match=r"test_frontend_errors\.py:") as caught:
        export(no_translation, SAMPLE)
    assert caught.value.operator == "aten._linalg_svd.default"


def test_missing_input_is_a_key_error_for_the_function() -> None:
    def tolerant(inp: Inputs) -> Inputs:
        try:
            return {"y": inp["absent"]}
        except KeyError:
            return {"y": inp["x"] + 1}

    assert export(tolerant, SAMPLE).outputs == ["y"]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (torch.ones(1), "got a tensor"),
        (None, "got NoneType"),
        ({"y": 3}, "'y' must be a torch.Tensor, got int"),
        ({}, "empty mapping"),
        ({1: torch.ones(1)}, "non-empty strings"),
    ],
)
def test_wrong_result(result: Any, words: str) -> None:
    with pytest.raises(OutputError, match=words) as caught:
        export(lambda inp: result, SAMPLE)
    assert caught.value.source is not None


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([torch.ones(1)], "must be a mapping"),
        ({"x": 3}, "'x' must be a torch.Tensor, got int"),
        ({"x": [torch.ones(1)]}, "got list"),
        ({"": torch.ones(1)}, "non-empty strings"),
        ({"x": torch.ones(2, 2).to_sparse()}, "dense tensor"),
    ],
)
def test_wrong_sample(inputs: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        export(lambda inp: dict(inp), inputs)


def test_input_changed_in_place() -> None:
    def step(inp: Inputs) -> Inputs:
        inp["x"].add_(1)
        return {"y": inp["x"]}

    with pytest.raises(MutationError, match="'x' is changed in place"):
        export(step, SAMPLE)


def test_shared_memory_changed_in_place() -> None:
    base = torch.zeros(4)
    row = base[:2]

    def step(inp: Inputs) -> Inputs:
        row.add_(1)
        return {"y": base + inp["x"].sum()}

    with pytest.raises(MutationError, match="shares its memory"):
        export(step, SAMPLE)


def test_buffer_replaced() -> None:
    class Counter(torch.nn.Module):
        count: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count = self.count + 1
            return x + self.count

    net = Counter()
    buffer = net.count
    with pytest.raises(MutationError, match="buffer 'count' of Counter"):
        export(lambda inp: {"y": net(inp["x"])}, SAMPLE)
    assert net.count is buffer


def test_error_leaves_nothing_behind() -> None:
    net = torch.nn.Linear(3, 3)

    def step(inp: Inputs) -> Inputs:
        return {"y": net(inp["x"]).sum().item() * inp["x"]}

    with pytest.raises(DataDependentError):
        export(step, SAMPLE)
    assert torch.ones(1).item() == 1.0  # no mode of the tracer is left active


def test_recomputation_on_the_way_back_is_refused_with_a_remedy() -> None:
    model = torch.nn.Linear(2, 2)

    def step(inp: Inputs) -> Inputs:
        y = torch.utils.checkpoint.checkpoint(model, inp["x"], use_reentrant=False)
        y.sum().backward()
        return {"y": y}

    words = r"way back(?s:.*)test_frontend_errors\.py(?s:.*)without torch\.utils\.checkpoint"
    with pytest.raises(TraceError, match=words):
        export(step, {"x": torch.ones(3, 2)})
