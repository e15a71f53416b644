"""Running sums, images of another size, and transposed convolutions."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from compiler.pfvm.operators.record import Call, Charged, Operator, free, per_input


def _running_sum(call: Call) -> Tensor:
    x, axis = call[0], int(call[1])
    if call.attributes.get("reverse", 0):
        x = x.flip(axis)
    total = torch.cumsum(x, axis, dtype=x.dtype)
    if call.attributes.get("exclusive", 0):
        total = total - x
    return total.flip(axis) if call.attributes.get("reverse", 0) else total


def nearest_places(extent: int, result: int, scale: float, transform: str, rounding: str) -> list[int]:
    """For each place along an axis of a resized image the place it is taken from.  Raises ValueError."""
    found = []
    for place in range(result):
        if transform == "asymmetric":
            source = place / scale
        elif transform in ("half_pixel", "pytorch_half_pixel"):
            source = (place + 0.5) / scale - 0.5 if transform == "half_pixel" or result > 1 else 0.0
        elif transform == "align_corners":
            source = place * (extent - 1) / (result - 1) if result > 1 else 0.0
        else:
            raise ValueError(f"coordinate_transformation_mode '{transform}' is not supported; use asymmetric")
        chosen = {
            "floor": math.floor(source),
            "ceil": math.ceil(source),
            "round_prefer_floor": math.ceil(source - 0.5),
            "round_prefer_ceil": math.floor(source + 0.5),
        }[rounding]
        found.append(min(max(chosen, 0), extent - 1))
    return found


def _resize(call: Call) -> Tensor:
    mode = call.attributes.get("mode", "nearest")
    if mode != "nearest":
        raise ValueError(f"mode '{mode}' is not supported; use nearest")
    x, scales, sizes = call[0], call.optional(2), call.optional(3)
    axes = [int(axis) for axis in call.attributes.get("axes", range(x.ndim))]
    transform = call.attributes.get("coordinate_transformation_mode", "half_pixel")
    rounding = call.attributes.get("nearest_mode", "round_prefer_floor")
    for number, axis in enumerate(axes):
        extent = x.shape[axis]
        if sizes is not None and sizes.numel():
            result = int(sizes[number])
            scale = result / extent
        else:
            assert scales is not None
            scale = float(scales[number])
            result = math.floor(extent * scale)
        places = nearest_places(extent, result, scale, transform, rounding)
        x = x.index_select(axis, torch.tensor(places, device=x.device))
    return x


def _transposed_convolution(call: Call) -> Tensor:
    x, weight, bias = call[0], call[1], call.optional(2)
    rank = x.ndim - 2
    strides = [int(v) for v in call.attributes.get("strides", [1] * rank)]
    dilations = [int(v) for v in call.attributes.get("dilations", [1] * rank)]
    extra = [int(v) for v in call.attributes.get("output_padding", [0] * rank)]
    pads = [int(v) for v in call.attributes.get("pads", [0] * 2 * rank)]
    if call.attributes.get("auto_pad", "NOTSET") != "NOTSET" or "output_shape" in call.attributes:
        raise ValueError("auto_pad and output_shape are not supported; give pads")
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    group = int(call.attributes.get("group", 1))
    # More padding at one end than at the other is what is cut off of the larger result.
    y = function(x, weight, bias, strides, 0, extra, group, dilations)
    for axis in range(rank):
        end = y.shape[2 + axis] - pads[rank + axis]
        y = y.narrow(2 + axis, pads[axis], end - pads[axis])
    return y


def _transposed_charge(shapes: Charged) -> int:
    weight = shapes.inputs[1] or ()
    return 2 * shapes.input_size * math.prod(weight[1:])


OPERATORS = (
    Operator("CumSum", _running_sum, per_input(1)),
    Operator("Resize", _resize, free),
    Operator("ConvTranspose", _transposed_convolution, _transposed_charge),
)
