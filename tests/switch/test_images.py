"""Values that layers read from DRAM in more than one layout: parameters get a second image, others are stored again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from onnx import helper

import mlsdk
from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models

OPTIONS = Options.resolve({}, {})
ROWS, WIDTH = 61, 20


def _tied(*, weight_is_input: bool) -> Compiled:
    """Rows of a table, multiplied by the table: y = w[i] @ w.T."""
    w = np.random.default_rng(1).standard_normal((ROWS, WIDTH)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["w", "i"], ["m"]), helper.make_node("Gemm", ["m", "w"], ["y"], transB=1)]
    inputs: dict[str, tuple[str, Any]] = {"i": ("int", [7])}
    if weight_is_input:
        inputs["w"] = ("float", [ROWS, WIDTH])
    inner = {"m": ("float", [7, WIDTH])}
    constants: dict[str, NDArray[Any]] = {} if weight_is_input else {"w": w}
    return compile_model(models.build(nodes, inputs, {"y": ("float", [7, ROWS])}, inner, constants), OPTIONS)


def test_a_parameter_gets_a_second_image_of_the_same_data() -> None:
    compiled = _tied(weight_is_input=False)
    (image,) = compiled.images
    assert compiled.images[image] == "w"
    assert not compiled.params[image].layout.equivalent(compiled.params["w"].layout)
    feeds = {"i": np.array([0, 60, -1, 3, 3, -61, 17])}
    np.testing.assert_array_equal(machine.run(compiled, feeds)["y"], run_reference(compiled.graph, feeds)["y"])


def test_an_input_is_switched_inside_the_program() -> None:
    compiled = _tied(weight_is_input=True)
    assert not compiled.images
    w = np.random.default_rng(2).standard_normal((ROWS, WIDTH)).astype(np.float32)
    feeds = {"i": np.array([0, 60, -1, 3, 3, -61, 17]), "w": w}
    np.testing.assert_array_equal(machine.run(compiled, feeds)["y"], run_reference(compiled.graph, feeds)["y"])


class _Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(ROWS, WIDTH)

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        return self.table(i) @ self.table.weight.T


def test_both_images_follow_the_registered_tensor(tmp_path: Path) -> None:
    """The weight is changed on the device between two calls."""
    torch.manual_seed(0)
    model = _Tied()
    index = torch.tensor([5, 0, 60, 9])
    context = mlsdk.Context(mlsdk.MNDevice("emu2"))
    context.registry.register("model", model)
    compiled = context.compile(lambda feed: {"y": model(feed["i"])}, {"i": index}, tmp_path / "t", training=False)
    before = compiled({"i": index})["y"].cpu()
    torch.testing.assert_close(before, model(index), rtol=0.05, atol=0.05)
    fresh = torch.randn(ROWS, WIDTH)
    context.get_registered_value_proxy(model.table.weight).load_from(fresh)
    after = compiled({"i": index})["y"].cpu()
    torch.testing.assert_close(after, fresh[index] @ fresh.T, rtol=0.05, atol=0.05)
