"""Convolutions and poolings on the simulated chip: bits against the reference, numbers against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from onnx import helper
from torch.nn import functional

from compiler.codegen import compile_model
from compiler.errors import UnsupportedOperator
from compiler.layers.halfmath import half_to_float
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models

OPTIONS = Options.resolve({}, {})
Shapes = dict[str, list[int]]


def _run(op_type: str, shapes: Shapes, result: tuple[int, ...], **attrs: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    """The output as numbers and the inputs, after a comparison of all bits with the reference."""
    model = models.build(
        [helper.make_node(op_type, list(shapes), ["y"], **attrs)],
        {name: ("float", shape) for name, shape in shapes.items()},
        {"y": ("float", list(result))},
    )
    rng = np.random.default_rng(len(attrs))
    feeds: dict[str, NDArray[Any]] = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    compiled = compile_model(model, OPTIONS)
    got = machine.run(compiled, feeds)["y"]
    raw = run_reference(compiled.graph, feeds)
    np.testing.assert_array_equal(got, next(raw[name] for name in raw if name == "y" or name.startswith("y_Upload")))
    number = half_to_float(got) if got.dtype == np.uint16 else got.view(np.float32)
    return number, {name: torch.from_numpy(data) for name, data in feeds.items()}


@pytest.mark.parametrize(
    "x, w, stride, pads, dilation, group, bias",
    [
        ([2, 3, 8, 8], [5, 3, 3, 3], 1, [1, 1, 1, 1], 1, 1, True),
        ([1, 4, 9, 7], [6, 2, 3, 3], 2, [0, 1, 1, 0], 1, 2, False),
        ([2, 2, 11], [3, 2, 4], 3, [2, 1], 2, 1, True),
        ([1, 5, 4, 4], [1, 5, 1, 1], 1, [0, 0, 0, 0], 1, 1, False),
    ],
)
def test_convolution(
    x: list[int], w: list[int], stride: int, pads: list[int], dilation: int, group: int, bias: bool
) -> None:
    rank = len(x) - 2
    padded = torch.zeros(x)
    turned = [v for axis in reversed(range(rank)) for v in (pads[axis], pads[axis + rank])]
    forms = {1: functional.conv1d, 2: functional.conv2d}
    shape = forms[rank](functional.pad(padded, turned), torch.zeros(w), None, stride, 0, dilation, group).shape
    shapes = {"x": x, "w": w, **({"b": w[:1]} if bias else {})}
    attrs = {"strides": [stride] * rank, "pads": pads, "dilations": [dilation] * rank, "group": group}
    got, feeds = _run("Conv", shapes, tuple(shape), kernel_shape=w[2:], **attrs)
    exact = forms[rank](
        functional.pad(feeds["x"], turned), feeds["w"], feeds.get("b"), stride, 0, dilation, group
    ).numpy()
    assert np.abs(got - exact).max() < 0.01 * np.abs(exact).max()


def test_convolution_that_keeps_the_size_by_itself() -> None:
    got, feeds = _run("Conv", {"x": [1, 2, 7, 7], "w": [3, 2, 3, 3]}, (1, 3, 7, 7), auto_pad="SAME_UPPER")
    exact = functional.conv2d(feeds["x"], feeds["w"], padding=1).numpy()
    assert np.abs(got - exact).max() < 0.01 * np.abs(exact).max()


@pytest.mark.parametrize("size, stride, pad", [(2, 2, 0), (3, 2, 1)])
def test_largest_of_windows(size: int, stride: int, pad: int) -> None:
    exact = functional.max_pool2d(torch.zeros(2, 3, 8, 8), size, stride, pad)
    attrs = {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
    got, feeds = _run("MaxPool", {"x": [2, 3, 8, 8]}, tuple(exact.shape), **attrs)
    np.testing.assert_array_equal(got, functional.max_pool2d(feeds["x"], size, stride, pad).numpy())


@pytest.mark.parametrize("counted", [0, 1])
def test_mean_of_windows(counted: int) -> None:
    attrs = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": counted}
    got, feeds = _run("AveragePool", {"x": [2, 3, 8, 8]}, (2, 3, 4, 4), **attrs)
    exact = functional.avg_pool2d(feeds["x"], 3, 2, 1, count_include_pad=bool(counted)).numpy()
    np.testing.assert_allclose(got, exact, atol=1e-6)


@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool"])
def test_whole_planes(op_type: str) -> None:
    got, feeds = _run(op_type, {"x": [2, 5, 6, 3]}, (2, 5, 1, 1))
    exact = feeds["x"].mean((2, 3), keepdim=True) if "Average" in op_type else feeds["x"].amax((2, 3), keepdim=True)
    np.testing.assert_allclose(got, exact.numpy(), atol=1e-6)


def test_indices_of_the_largest_are_refused() -> None:
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2], strides=[2, 2])
    outputs = {"y": ("float", [1, 1, 2, 2]), "i": ("int", [1, 1, 2, 2])}
    model = models.build([node], {"x": ("float", [1, 1, 4, 4])}, outputs)
    with pytest.raises(UnsupportedOperator, match=r"MaxPool 'y'.*indices"):
        compile_model(model, OPTIONS)
