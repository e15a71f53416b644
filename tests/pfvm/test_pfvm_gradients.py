"""Gradients of convolutions and poolings as they are exported, run by PFVM: the values of torch."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
import pytest
import torch
from torch import nn
from torch.nn import functional

from compiler.frontend import export
from compiler.frontend.errors import UnsupportedOperatorError
from compiler.pfvm import flops, optimize, run

NETS = {
    "strides and padding": (nn.Conv2d(3, 4, 3, stride=2, padding=1), (2, 3, 8, 7)),
    "groups and dilation": (nn.Conv2d(4, 6, (3, 2), dilation=2, groups=2, bias=False), (2, 4, 9, 8)),
    "one axis": (nn.Conv1d(2, 3, 4, stride=3, padding=2), (3, 2, 11)),
    "transposed": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (2, 4, 5, 4)),
    "largest": (nn.MaxPool2d(2), (2, 3, 7, 8)),
    "largest, overlapping": (nn.MaxPool2d(3, 2, 1), (2, 3, 8, 7)),
    "largest, rounded up": (nn.MaxPool2d(3, 2, ceil_mode=True), (2, 3, 8, 7)),
    "largest, volume": (nn.MaxPool3d(2), (1, 2, 4, 4, 6)),
    "mean": (nn.AvgPool2d(2), (2, 3, 6, 7)),
    "mean, with padding": (nn.AvgPool2d(3, 2, 1), (2, 3, 8, 7)),
    "mean, without padding": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 8, 7)),
}


@pytest.mark.parametrize("name", NETS)
def test_gradients(name: str) -> None:
    torch.manual_seed(len(name))
    net, shape = NETS[name]
    sample = {"x": torch.randn(shape)}

    def gradients(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        x = inp["x"].detach().requires_grad_()
        found = torch.autograd.grad(net(x).pow(3).sum(), [x, *net.parameters()])
        return {f"g{k}": gradient for k, gradient in enumerate(found)}

    exported = export(gradients, sample, training=True)
    compiled = optimize(exported.model)
    onnx.checker.check_model(compiled, full_check=True)
    expected = gradients(sample)
    got = run(compiled, sample)
    assert flops(compiled) > 0
    for key, values in expected.items():
        torch.testing.assert_close(got[key], values, rtol=1e-4, atol=1e-4)


def test_the_first_of_equal_elements_gets_the_gradient() -> None:
    sample = {"x": torch.zeros(1, 1, 4, 4)}

    def gradient(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        x = inp["x"].detach().requires_grad_()
        return {"g": torch.autograd.grad(functional.max_pool2d(x, 2).sum(), x)[0]}

    got = run(export(gradient, sample, training=True).model, sample)["g"]
    assert torch.equal(got, gradient(sample)["g"])


def test_a_divisor_of_its_own_is_refused() -> None:
    def gradient(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        x = inp["x"].detach().requires_grad_()
        return {"g": torch.autograd.grad(functional.avg_pool2d(x, 2, divisor_override=3).sum(), x)[0]}

    with pytest.raises(UnsupportedOperatorError, match="avg_pool2d"):
        export(gradient, {"x": torch.ones(1, 1, 4, 4)}, training=True)
