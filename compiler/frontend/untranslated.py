"""Operators of torch that have no translation to ONNX, or one that no device runs, written with others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten


def cdist(x: torch.Tensor, y: torch.Tensor, p: float, compute_mode: int | None = None) -> Any:
    """Distances of all pairs of rows, by the sum of absolute differences (p = 1) or the Euclidean one (p = 2)."""
    if p not in (1.0, 2.0):
        return NotImplemented
    difference = x.unsqueeze(-2) - y.unsqueeze(-3)
    return difference.abs().sum(-1) if p == 1.0 else (difference * difference).sum(-1).sqrt()


def bucketize(x: torch.Tensor, bounds: torch.Tensor, *, out_int32: bool = False, right: bool = False) -> torch.Tensor:
    """How many of the bounds lie below each element (`right`: or are equal to it)."""
    column = x.unsqueeze(-1)
    below = bounds <= column if right else bounds < column
    return below.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def trilinear(
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor,
    expand_a: Sequence[int],
    expand_b: Sequence[int],
    expand_c: Sequence[int],
    summed: Sequence[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    """The sum over some axes of the product of three tensors that get new axes first (`torch.nn.Bilinear`)."""
    operands = []
    for tensor, axes in ((a, expand_a), (b, expand_b), (c, expand_c)):
        for axis in sorted(axes):
            tensor = tensor.unsqueeze(axis)
        operands.append(tensor)
    return (operands[0] * operands[1] * operands[2]).sum(list(summed))


def weight_norm(v: torch.Tensor, g: torch.Tensor, dim: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """(v scaled to the lengths g, the lengths of v); a length is over all axes but `dim`."""
    length = _over_others(v * v, dim).sqrt()
    return v * (g / length), length


def weight_norm_backward(
    gradient: torch.Tensor, v: torch.Tensor, g: torch.Tensor, length: torch.Tensor, dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of `v` and `g`."""
    along = _over_others(gradient * v, dim) / length
    return g / length * (gradient - v * (along / length)), along


def shift_left(x: torch.Tensor, bits: int) -> torch.Tensor:
    """`x << bits`."""
    return x * (1 << bits)


def shift_right(x: torch.Tensor, bits: int) -> torch.Tensor:
    """`x >> bits`, which keeps the sign."""
    return torch.div(x, 1 << bits, rounding_mode="floor")


def _over_others(x: torch.Tensor, dim: int) -> torch.Tensor:
    return x.sum([axis for axis in range(x.dim()) if axis != dim % x.dim()], keepdim=True)


RULES: dict[Any, Callable[..., Any]] = {
    _aten._cdist_forward.default: cdist,
    _aten._trilinear.default: trilinear,
    _aten._weight_norm_interface.default: weight_norm,
    _aten._weight_norm_interface_backward.default: weight_norm_backward,
    _aten.bucketize.Tensor: bucketize,
    _aten.__lshift__.Scalar: shift_left,
    _aten.__rshift__.Scalar: shift_right,
    _aten.bitwise_left_shift.Tensor_Scalar: shift_left,
    _aten.bitwise_right_shift.Tensor_Scalar: shift_right,
}
