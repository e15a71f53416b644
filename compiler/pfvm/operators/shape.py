"""Operators that only place data: shapes, constants, joining and cutting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from compiler.pfvm.operators.record import Call, Operator, free


def _ints(value: Tensor) -> list[int]:
    return [int(v) for v in value.reshape(-1).tolist()]


def _reshape(call: Call) -> Tensor:
    x, target = call[0], _ints(call[1])
    if not call.attributes.get("allowzero", 0):
        target = [x.shape[i] if extent == 0 else extent for i, extent in enumerate(target)]
    return x.reshape(target)


def _transpose(call: Call) -> Tensor:
    perm = call.attributes.get("perm", list(reversed(range(call[0].ndim))))
    return call[0].permute(*[int(p) for p in perm]) if perm else call[0]


def _flatten(call: Call) -> Tensor:
    x, axis = call[0], int(call.attributes.get("axis", 1))
    axis += x.ndim if axis < 0 else 0
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def _squeeze(call: Call) -> Tensor:
    axes = call.ints(1, "axes")
    return call[0].squeeze() if axes is None else call[0].squeeze(tuple(axes))


def _unsqueeze(call: Call) -> Tensor:
    axes = call.ints(1, "axes") or []
    x = call[0]
    rank = x.ndim + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = x.unsqueeze(axis)
    return x


def _expand(call: Call) -> Tensor:
    target = np.broadcast_shapes(tuple(call[0].shape), tuple(_ints(call[1])))
    return call[0].expand(target)


def _concat(call: Call) -> Tensor:
    return torch.cat(call.present(), dim=int(call.attributes["axis"]))


def _split(call: Call) -> Sequence[Tensor]:
    x, axis = call[0], int(call.attributes.get("axis", 0))
    sizes = call.ints(1, "split")
    if sizes is None:
        parts = int(call.attributes.get("num_outputs", call.results))
        size = -(-x.shape[axis] // parts)
        sizes = [size] * (parts - 1) + [x.shape[axis] - size * (parts - 1)]
    return torch.split(x, sizes, dim=axis)


def _slice(call: Call) -> Tensor:
    x = call[0]
    starts, ends = _ints(call[1]), _ints(call[2])
    axes = call.ints(3, "axes")
    steps = call.ints(4, "steps") or [1] * len(starts)
    for axis, start, end, step in zip(axes or range(len(starts)), starts, ends, steps, strict=True):
        # Python's rules for negative and overlong bounds are ONNX's, except that -1 - extent means "past the start".
        extent = x.shape[axis]
        low = start + extent if start < 0 else start
        high = end + extent if end < 0 else end
        if step > 0:
            index = range(min(max(low, 0), extent), min(max(high, 0), extent), step)
        else:
            index = range(min(max(low, -1), extent - 1), min(max(high, -1), extent - 1), step)
        x = x.index_select(axis, torch.tensor(list(index), dtype=torch.int64, device=x.device))
    return x


def _pad(call: Call) -> Tensor:
    x, pads, value = call[0], _ints(call[1]), call.optional(2)
    axes = call.ints(3, "axes") or list(range(x.ndim))
    before, after = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    mode = call.attributes.get("mode", "constant")
    flat = [p for pair in zip(reversed(before), reversed(after), strict=True) for p in pair]
    if mode == "constant":
        return F.pad(x, flat, value=0 if value is None else value.item())
    for axis in range(x.ndim):
        x = x.index_select(axis, _border(mode, x.shape[axis], before[axis], after[axis]).to(x.device))
    return x


def _border(mode: str, extent: int, before: int, after: int) -> Tensor:
    """Source index of each place of a padded axis."""
    index = torch.arange(-before, extent + after)
    if mode == "edge":
        return index.clamp(0, extent - 1)
    if mode == "wrap":
        return index % extent
    if mode == "reflect":
        period = max(2 * (extent - 1), 1)
        index = index % period
        return torch.where(index >= extent, period - index, index)
    raise ValueError(f"pad mode '{mode}' is unknown; expected constant, edge, reflect or wrap")


def _dropout(call: Call) -> tuple[Tensor, Tensor]:
    ratio, training = call.optional(1), call.optional(2)
    if training is not None and bool(training) and (ratio is None or float(ratio) != 0):
        raise ValueError("a dropout in training mode has no source of random numbers here")
    return call[0], torch.ones_like(call[0], dtype=torch.bool)


def _constant_of_shape(call: Call) -> Tensor:
    value = call.attributes.get("value")
    fill = value.reshape(-1)[0] if value is not None else torch.zeros(())
    return torch.full(_ints(call[0]), fill.item(), dtype=fill.dtype, device=call.device)


def _constant(call: Call) -> Tensor:
    for name, value in call.attributes.items():
        if name == "value":
            tensor: Tensor = value.to(call.device)
            return tensor
        if name in ("value_int", "value_ints"):
            return torch.tensor(value, dtype=torch.int64, device=call.device)
        if name in ("value_float", "value_floats"):
            return torch.tensor(value, dtype=torch.float32, device=call.device)
    raise ValueError("a Constant holds a tensor, integers or floats")


def _shape(call: Call) -> Tensor:
    start, end = call.attributes.get("start", 0), call.attributes.get("end")
    return torch.tensor(list(call[0].shape)[start:end], dtype=torch.int64, device=call.device)


def _range(call: Call) -> Tensor:
    start, limit, delta = (call[i].item() for i in range(3))
    return torch.arange(start, limit, delta, dtype=call[0].dtype, device=call.device)


def _triangle(call: Call) -> Tensor:
    offset = call.optional(1)
    cut = torch.triu if call.attributes.get("upper", 1) else torch.tril
    return cut(call[0], 0 if offset is None else int(offset))


def _depth_to_space(call: Call) -> Tensor:
    x, size = call[0], int(call.attributes["blocksize"])
    batch, channels, height, width = x.shape
    if call.attributes.get("mode", "DCR") == "DCR":
        parts = x.reshape(batch, size, size, channels // size**2, height, width).permute(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(batch, channels // size**2, size, size, height, width).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(batch, channels // size**2, height * size, width * size)


def _space_to_depth(call: Call) -> Tensor:
    x, size = call[0], int(call.attributes["blocksize"])
    batch, channels, height, width = x.shape
    parts = x.reshape(batch, channels, height // size, size, width // size, size).permute(0, 3, 5, 1, 2, 4)
    return parts.reshape(batch, channels * size**2, height // size, width // size)


OPERATORS = (
    Operator("Identity", lambda call: call[0], free),
    Operator("Constant", _constant, free),
    Operator("ConstantOfShape", _constant_of_shape, free),
    Operator("Shape", _shape, free),
    Operator("Size", lambda call: torch.tensor(call[0].numel(), device=call.device), free),
    Operator("Range", _range, free),
    Operator("Reshape", _reshape, free),
    Operator("Transpose", _transpose, free),
    Operator("Flatten", _flatten, free),
    Operator("Squeeze", _squeeze, free),
    Operator("Unsqueeze", _unsqueeze, free),
    Operator("Expand", _expand, free),
    Operator("Tile", lambda call: call[0].repeat(_ints(call[1])), free),
    Operator("Trilu", _triangle, free),
    Operator("DepthToSpace", _depth_to_space, free),
    Operator("SpaceToDepth", _space_to_depth, free),
    Operator("Concat", _concat, free),
    Operator("Split", _split, free),
    Operator("Slice", _slice, free),
    Operator("Pad", _pad, free),
    Operator("Dropout", _dropout, free),
)
