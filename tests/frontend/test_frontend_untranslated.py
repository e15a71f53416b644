"""Operators that are written with others: values and gradients are torch's."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from compiler.frontend.untranslated import RULES

_aten = torch.ops.aten


def test_buckets_and_distances() -> None:
    x, bounds = torch.tensor([[-2.0, 0.0, 0.5], [1.0, 1.5, 9.0]]), torch.tensor([-1.0, 0.0, 1.0])
    for right in (False, True):
        got = RULES[_aten.bucketize.Tensor](x, bounds, right=right)
        assert torch.equal(got, torch.bucketize(x, bounds, right=right))
    a, b = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    for p in (1.0, 2.0):
        torch.testing.assert_close(RULES[_aten._cdist_forward.default](a, b, p), torch.cdist(a, b, p))


def test_products_of_three() -> None:
    a, b, weight = torch.randn(3, 4), torch.randn(3, 5), torch.randn(2, 4, 5)
    arguments = (a, weight, b, [1, 3], [0], [1, 2], [2, 3])
    torch.testing.assert_close(RULES[_aten._trilinear.default](*arguments), F.bilinear(a, b, weight))


def test_weights_of_given_lengths() -> None:
    v, g, gradient = torch.randn(4, 3, 2), torch.randn(4, 1, 1), torch.randn(4, 3, 2)
    forward, backward = _aten._weight_norm_interface.default, _aten._weight_norm_interface_backward.default
    for got, want in zip(RULES[forward](v, g, 0), forward(v, g, 0), strict=True):
        torch.testing.assert_close(got, want)
    saved = (gradient, v, g, forward(v, g, 0)[1], 0)
    for got, want in zip(RULES[backward](*saved), backward(*saved), strict=True):
        torch.testing.assert_close(got, want)


def test_shifts() -> None:
    x = torch.arange(-9, 9)
    for bits in (0, 1, 3):
        assert torch.equal(RULES[_aten.__lshift__.Scalar](x, bits), x << bits)
        assert torch.equal(RULES[_aten.bitwise_right_shift.Tensor_Scalar](x, bits), x >> bits)
