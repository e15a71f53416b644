"""Gradients of convolutions and poolings, and transposed convolutions, on the simulated chip: bits against the
reference, numbers against torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from onnx import helper
from torch.nn import functional

from compiler.codegen import compile_model
from compiler.layers.halfmath import half_to_float
from compiler.layers.reference import run_reference
from compiler.options import Options
from compiler.plan import opening_windows
from tests.compiler import machine, models

OPTIONS = Options.resolve({}, {})
Numbers = NDArray[Any]


def _run(
    op_type: str,
    feeds: dict[str, Numbers],
    shape: tuple[int, ...],
    domain: str = "",
    options: Options = OPTIONS,
    **attrs: Any,
) -> Numbers:
    """The output as numbers, after a comparison of all bits with the reference."""
    model = models.build(
        [helper.make_node(op_type, list(feeds), ["y"], domain=domain, **attrs)],
        {name: ("float", list(data.shape)) for name, data in feeds.items()},
        {"y": ("float", list(shape))},
    )
    compiled = compile_model(model, options)
    got = machine.run(compiled, feeds)["y"]
    raw = run_reference(compiled.graph, feeds)
    np.testing.assert_array_equal(got, raw[compiled.stored["y"]])
    return half_to_float(got) if got.dtype == np.uint16 else got.view(f"f{got.dtype.itemsize}")


def _random(*shape: int) -> Numbers:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _close(got: Numbers, exact: torch.Tensor) -> None:
    assert np.abs(got - exact.numpy()).max() < 0.01 * float(exact.abs().max())


CONVOLUTIONS = [
    # input, filter, stride, padding, dilation, groups
    ((2, 3, 8, 8), (5, 3, 3, 3), 1, 1, 1, 1),
    ((3, 4, 9, 7), (6, 2, 3, 3), 2, 0, 1, 2),
    ((2, 2, 11), (3, 2, 4), 3, 2, 2, 1),
    ((1, 5, 4, 4), (1, 5, 1, 1), 1, 0, 1, 1),
    ((2, 16, 5, 5), (17, 16, 2, 2), 2, 1, 2, 1),
]


def _convolve(x: torch.Tensor, w: torch.Tensor, stride: int, pad: int, dilation: int, groups: int) -> torch.Tensor:
    forms = {1: functional.conv1d, 2: functional.conv2d}
    return forms[x.dim() - 2](x, w, None, stride, pad, dilation, groups)


@pytest.mark.parametrize("x, w, stride, pad, dilation, groups", CONVOLUTIONS)
def test_gradient_of_a_filter(
    x: tuple[int, ...], w: tuple[int, ...], stride: int, pad: int, dilation: int, groups: int
) -> None:
    data, weight = torch.from_numpy(_random(*x)), torch.from_numpy(_random(*w)).requires_grad_()
    result = _convolve(data, weight, stride, pad, dilation, groups)
    gradient = torch.from_numpy(_random(*result.shape))
    (exact,) = torch.autograd.grad(result, weight, gradient)
    rank = len(x) - 2
    feeds = {"w": weight.detach().numpy(), "x": data.numpy(), "g": gradient.numpy()}
    steps = {"strides": [stride] * rank, "pads": [pad] * 2 * rank, "dilations": [dilation] * rank, "group": groups}
    _close(_run("ChainerConvGradWeight", feeds, w, "mncore", **steps), exact)


@pytest.mark.parametrize("x, w, stride, pad, dilation, groups", CONVOLUTIONS)
def test_transposed_convolution(
    x: tuple[int, ...], w: tuple[int, ...], stride: int, pad: int, dilation: int, groups: int
) -> None:
    data, weight = torch.from_numpy(_random(*x)).requires_grad_(), torch.from_numpy(_random(*w))
    result = _convolve(data, weight, stride, pad, dilation, groups)
    gradient = torch.from_numpy(_random(*result.shape))
    (exact,) = torch.autograd.grad(result, data, gradient)
    rank = len(x) - 2
    span = [dilation * (k - 1) + 1 for k in w[2:]]
    rest = [e - ((n - 1) * stride - 2 * pad + s) for e, n, s in zip(x[2:], result.shape[2:], span, strict=True)]
    steps = {"strides": [stride] * rank, "pads": [pad] * 2 * rank, "dilations": [dilation] * rank, "group": groups}
    feeds = {"g": gradient.numpy(), "w": weight.numpy()}
    _close(_run("ConvTranspose", feeds, x, output_padding=rest, **steps), exact)


@pytest.mark.parametrize("stride, pad", [(1, 1), (2, 0)])
def test_windows_in_parts(stride: int, pad: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second row of a MAB at a time, as if the windows of all were too large."""
    monkeypatch.setattr(opening_windows, "MOST_WINDOWS", 4)
    data, weight = torch.from_numpy(_random(2, 3, 36, 4)), torch.from_numpy(_random(4, 3, 3, 3))
    result = functional.conv2d(data.requires_grad_(), weight.requires_grad_(), None, stride, pad)
    gradient = torch.from_numpy(_random(*result.shape))
    grad_x, grad_weight = torch.autograd.grad(result, [data, weight], gradient)
    w, x, g = weight.detach().numpy(), data.detach().numpy(), gradient.numpy()
    steps = {"strides": [stride] * 2, "pads": [pad] * 4}
    rest = [(e + 2 * pad - 3) % stride for e in x.shape[2:]]
    _close(_run("Conv", {"x": x, "w": w}, g.shape, **steps), result.detach())
    _close(_run("ChainerConvGradWeight", {"w": w, "x": x, "g": g}, w.shape, "mncore", **steps), grad_weight)
    _close(_run("ConvTranspose", {"g": g, "w": w}, x.shape, output_padding=rest, **steps), grad_x)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"float_dtype": "float"}, 2**-15),
        ({"float_dtype": "float", "envs": {"CODEGEN_OP_DEF": "Conv=Single"}}, 2**-21),
        ({"float_dtype": "double"}, 2**-21),
    ],
)
def test_gradients_of_a_convolution_in_other_precisions(options: dict[str, Any], error: float) -> None:
    data, weight = torch.from_numpy(_random(2, 3, 5, 5)), torch.from_numpy(_random(4, 3, 2, 2))
    result = functional.conv2d(data.requires_grad_(), weight.requires_grad_())
    gradient = torch.from_numpy(_random(*result.shape))
    grad_x, grad_weight = torch.autograd.grad(result, [data, weight], gradient)
    made = Options.resolve(options, {})
    w, x, g = weight.detach().numpy(), data.detach().numpy(), gradient.numpy()
    found = [
        (_run("ChainerConvGradWeight", {"w": w, "x": x, "g": g}, w.shape, "mncore", made), grad_weight),
        (_run("ConvTranspose", {"g": g, "w": w}, x.shape, "", made), grad_x),
    ]
    for got, exact in found:
        assert np.abs(got - exact.numpy()).max() < error * float(exact.abs().max())


@pytest.mark.parametrize("size, stride, pad, side", [(2, 2, 0, 8), (3, 2, 1, 8), (2, 3, 0, 7), (3, 1, 0, 5)])
def test_gradient_of_the_largest(size: int, stride: int, pad: int, side: int) -> None:
    """Many elements are equal, and the first of them gets the gradient."""
    data = torch.from_numpy(np.round(_random(2, 3, side, side))).requires_grad_()
    result = functional.max_pool2d(data, size, stride, pad)
    gradient = torch.from_numpy(_random(*result.shape))
    (exact,) = torch.autograd.grad(result, data, gradient)
    attrs = {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
    feeds = {"x": data.detach().numpy(), "g": gradient.numpy()}
    got = _run("ChainerMaxPoolGrad", feeds, tuple(data.shape), "mncore", **attrs)
    np.testing.assert_allclose(got, exact.numpy(), atol=1e-6)


@pytest.mark.parametrize("size, stride, pad, counted", [(2, 2, 0, 0), (3, 2, 1, 0), (3, 2, 1, 1)])
def test_gradient_of_a_mean(size: int, stride: int, pad: int, counted: int) -> None:
    data = torch.zeros(2, 3, 8, 8, requires_grad=True)
    result = functional.avg_pool2d(data, size, stride, pad, count_include_pad=bool(counted))
    gradient = torch.from_numpy(_random(*result.shape))
    (exact,) = torch.autograd.grad(result, data, gradient)
    attrs = {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "count_include_pad": counted}
    feeds = {"x": data.detach().numpy(), "g": gradient.numpy()}
    got = _run("ChainerAveragePoolGrad", feeds, tuple(data.shape), "mncore", **attrs)
    np.testing.assert_allclose(got, exact.numpy(), atol=1e-6)
