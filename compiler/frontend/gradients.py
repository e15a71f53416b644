"""Gradients of convolutions and poolings, as operators that PFVM and the chip have.

The gradient of a convolution's input is a transposed convolution (and the other way round), which ONNX has; that of the
filter and those of poolings are operators of domain `mncore` (`compiler.pfvm.operators.gradients`).  A maximum's
gradient finds the place of the largest element anew, so that no indices are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from compiler.domain import DOMAIN, VERSION

_aten = torch.ops.aten


def _own(name: str, inputs: Sequence[torch.Tensor], attributes: dict[str, Any]) -> torch.Tensor:
    """An operator whose result is like its first input."""
    like = inputs[0]
    return torch.onnx.ops.symbolic(
        f"{DOMAIN}::{name}", inputs, attributes, dtype=like.dtype, shape=like.shape, version=VERSION
    )


def _each(values: Sequence[int], rank: int) -> list[int]:
    """One value per spatial axis: a list of one stands for all."""
    return [int(v) for v in values] * (rank if len(values) == 1 else 1)


def convolution_backward(
    gradient: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    """(gradient of x, of the weight, of the bias), None where it is not asked for."""
    rank = x.dim() - 2
    stride, padding, dilation = (_each(values, rank) for values in (stride, padding, dilation))
    grad_x = grad_weight = grad_bias = None
    if output_mask[0]:
        rest = [0] * rank
        if not transposed:
            axes = zip(x.shape[2:], gradient.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
            rest = [int(e - ((n - 1) * s - 2 * p + d * (k - 1) + 1)) for e, n, k, s, p, d in axes]
        grad_x = torch.convolution(gradient, weight, None, stride, padding, dilation, not transposed, rest, groups)
    if output_mask[1]:
        source, result = (gradient, x) if transposed else (x, gradient)
        attributes = {"strides": stride, "pads": padding * 2, "dilations": dilation, "group": groups}
        grad_weight = _own("ChainerConvGradWeight", [weight, source, result], attributes)
    if output_mask[2]:
        grad_bias = gradient.sum([0, *range(2, gradient.dim())])
    return grad_x, grad_weight, grad_bias


def _pooling(
    rank: int, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool
) -> dict[str, Any]:
    size = _each(kernel, rank)
    return {
        **({"ceil_mode": 1} if ceil_mode else {}),
        "kernel_shape": size,
        "strides": _each(stride, rank) if len(stride) else size,
        "pads": _each(padding, rank) * 2,
    }


def _max_pool_backward(rank: int) -> Callable[..., Any]:
    def backward(
        gradient: torch.Tensor,
        x: torch.Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        indices: torch.Tensor,
    ) -> Any:
        """All of a window's gradient goes to its first largest element."""
        if x.dim() != rank + 2:
            return NotImplemented
        attributes = _pooling(rank, kernel_size, stride, padding, ceil_mode)
        return _own("ChainerMaxPoolGrad", [x, gradient], {**attributes, "dilations": _each(dilation, rank)})

    return backward


def _average_pool_backward(rank: int) -> Callable[..., Any]:
    def backward(
        gradient: torch.Tensor,
        x: torch.Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Any:
        """The gradient of a window is divided among its elements; a divisor of its own is left as it is."""
        if x.dim() != rank + 2 or divisor_override is not None or (ceil_mode and count_include_pad and any(padding)):
            return NotImplemented
        attributes = _pooling(rank, kernel_size, stride, padding, ceil_mode)
        if count_include_pad and any(padding):
            attributes["count_include_pad"] = 1
        return _own("ChainerAveragePoolGrad", [x, gradient], attributes)

    return backward


RULES: dict[Any, Callable[..., Any]] = {
    _aten.convolution_backward.default: convolution_backward,
    _aten.max_pool2d_with_indices_backward.default: _max_pool_backward(2),
    _aten.max_pool3d_with_indices_backward.default: _max_pool_backward(3),
    _aten.avg_pool2d_backward.default: _average_pool_backward(2),
    _aten.avg_pool3d_backward.default: _average_pool_backward(3),
}
