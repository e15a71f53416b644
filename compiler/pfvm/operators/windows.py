"""Pooling, and the padding rule that pooling and convolution share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from compiler.pfvm.operators.record import Call, Charged, Operator, per_input


def spatial_padding(
    attributes: Mapping[str, Any],
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[list[int], list[int]]:
    """Padding before and after each spatial axis from `pads` or `auto_pad`."""
    rank = len(extents)
    mode = attributes.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", "VALID"):
        pads = [int(p) for p in attributes.get("pads", [0] * 2 * rank)] if mode == "NOTSET" else [0] * 2 * rank
        return pads[:rank], pads[rank:]
    begin, end = [], []
    for extent, size, stride, dilation in zip(extents, kernel, strides, dilations, strict=True):
        total = max((math.ceil(extent / stride) - 1) * stride + dilation * (size - 1) + 1 - extent, 0)
        small, large = total // 2, total - total // 2
        begin.append(small if mode == "SAME_UPPER" else large)
        end.append(large if mode == "SAME_UPPER" else small)
    return begin, end


@dataclass(frozen=True)
class _Windows:
    """Geometry of a pooling; `extra` is what ceil_mode adds at the end so that the last window is complete."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    begin: list[int]
    end: list[int]
    extra: list[int]

    @classmethod
    def of(cls, call: Call) -> _Windows:
        kernel = [int(k) for k in call.attributes["kernel_shape"]]
        strides = [int(s) for s in call.attributes.get("strides", [1] * len(kernel))]
        dilations = [int(d) for d in call.attributes.get("dilations", [1] * len(kernel))]
        extents = list(call[0].shape[2:])
        begin, end = spatial_padding(call.attributes, extents, kernel, strides, dilations)
        extra = [0] * len(kernel)
        if call.attributes.get("ceil_mode", 0):
            for axis, extent in enumerate(extents):
                span = dilations[axis] * (kernel[axis] - 1) + 1
                padded = extent + begin[axis] + end[axis]
                count = math.ceil((padded - span) / strides[axis]) + 1
                if (count - 1) * strides[axis] >= extent + begin[axis]:
                    count -= 1  # a window may not start in the padding at the end
                extra[axis] = max((count - 1) * strides[axis] + span - padded, 0)
        return cls(kernel, strides, dilations, begin, end, extra)

    def pad(self, x: Tensor, value: float) -> Tensor:
        """`x` with the declared padding."""
        return F.pad(x, _flat(self.begin, self.end), value=value)

    def cut(self, x: Tensor, value: float) -> Tensor:
        """All windows of an already padded tensor, flat: (batch, channel, output…, elements of the window)."""
        x = F.pad(x, _flat([0] * len(self.extra), self.extra), value=value)
        for axis, (size, stride, dilation) in enumerate(zip(self.kernel, self.strides, self.dilations, strict=True)):
            x = x.unfold(2 + axis, dilation * (size - 1) + 1, stride)[..., ::dilation]
        return x.flatten(-len(self.kernel))


def _flat(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """torch's order of paddings: last axis first."""
    return [p for pair in zip(reversed(before), reversed(after), strict=True) for p in pair]


def padded_evenly(
    attributes: Mapping[str, Any],
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[Tensor, list[int]]:
    """`x` and what torch has to add on both sides of each axis; padding that is not the same there is added here."""
    begin, end = spatial_padding(attributes, list(x.shape[2:]), kernel, strides, dilations)
    if begin == end:
        return x, begin
    return F.pad(x, _flat(begin, end)), [0] * len(begin)


def largest_of_windows(call: Call) -> Tensor:
    """Like MaxPool, in a form whose gradient goes to one element of each window."""
    windows = _Windows.of(call)
    lowest = float("-inf")
    return windows.cut(windows.pad(call[0], lowest), lowest).max(-1).values


def _max_pool(call: Call) -> Tensor:
    windows, x = _Windows.of(call), call[0]
    lowest = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
    return windows.cut(windows.pad(x, lowest), lowest).amax(-1)


def average_pool(call: Call) -> Tensor:
    """AveragePool."""
    windows = _Windows.of(call)
    total = windows.cut(windows.pad(call[0], 0.0), 0.0).sum(-1)
    # The divisor counts the elements, the declared padding too if asked, but never what ceil_mode adds.
    counted = 1.0 if call.attributes.get("count_include_pad", 0) else 0.0
    ones = windows.pad(torch.ones_like(call[0][:1, :1]), counted)
    return total / windows.cut(ones, 0.0).sum(-1)


def _global_average(call: Call) -> Tensor:
    return call[0].mean(dim=tuple(range(2, call[0].ndim)), keepdim=True)


def _global_max(call: Call) -> Tensor:
    return call[0].amax(dim=tuple(range(2, call[0].ndim)), keepdim=True)


def _window_size(shapes: Charged) -> int:
    return math.prod(int(extent) for extent in shapes.attributes["kernel_shape"])


OPERATORS = (
    Operator("MaxPool", _max_pool, lambda shapes: shapes.output_size * (_window_size(shapes) - 1)),
    Operator("AveragePool", average_pool, lambda shapes: shapes.output_size * _window_size(shapes)),
    Operator("GlobalAveragePool", _global_average, per_input(1)),
    Operator("GlobalMaxPool", _global_max, per_input(1)),
)
