"""Matrix products and convolutions."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from compiler.pfvm.operators.record import Call, Charged, Operator
from compiler.pfvm.operators.windows import padded_evenly


def _gemm(call: Call) -> Tensor:
    a = call[0].t() if call.attributes.get("transA", 0) else call[0]
    b = call[1].t() if call.attributes.get("transB", 0) else call[1]
    alpha, beta, bias = call.attributes.get("alpha", 1.0), call.attributes.get("beta", 1.0), call.optional(2)
    if bias is None:
        product = torch.mm(a, b)
        return product if alpha == 1 else product * alpha
    # One torch call, as the traced program makes it, so that results agree with torch bit by bit.
    return torch.addmm(bias.expand(a.shape[0], b.shape[1]) if bias.ndim == 0 else bias, a, b, beta=beta, alpha=alpha)


def _gemm_charge(shapes: Charged) -> int:
    a, c = shapes.inputs[0] or (), shapes.outputs[0]
    k = a[0] if shapes.attributes.get("transA", 0) else a[1]
    charge = 2 * math.prod(c) * k
    if len(shapes.inputs) > 2 and shapes.inputs[2] is not None and shapes.attributes.get("beta", 1.0) != 0:
        charge += math.prod(c)
    if shapes.attributes.get("alpha", 1.0) != 1:
        charge += math.prod(c)
    return charge


def _matmul_charge(shapes: Charged) -> int:
    return 2 * shapes.output_size * (shapes.inputs[0] or (1,))[-1]


def _conv(call: Call) -> Tensor:
    x, weight, bias = call[0], call[1], call.optional(2)
    rank = x.ndim - 2
    strides = call.attributes.get("strides", [1] * rank)
    dilations = call.attributes.get("dilations", [1] * rank)
    x, padding = padded_evenly(call.attributes, x, list(weight.shape[2:]), strides, dilations)
    convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    group = call.attributes.get("group", 1)
    result: Tensor = convolve(x, weight, bias, tuple(strides), tuple(padding), tuple(dilations), group)
    return result


def _conv_charge(shapes: Charged) -> int:
    # The weight is (output channels, input channels of one group, window).
    weight = shapes.inputs[1] or ()
    has_bias = len(shapes.inputs) > 2 and shapes.inputs[2] is not None
    return shapes.output_size * (2 * math.prod(weight[1:]) + has_bias)


def _conv_transpose(call: Call) -> Tensor:
    x, weight, bias = call[0], call[1], call.optional(2)
    rank = x.ndim - 2
    if call.attributes.get("auto_pad", "NOTSET") != "NOTSET" or "output_shape" in call.attributes:
        raise ValueError("ConvTranspose takes its padding from pads and output_padding only")
    strides, dilations = (call.attributes.get(name, [1] * rank) for name in ("strides", "dilations"))
    rest = call.attributes.get("output_padding", [0] * rank)
    pads = call.attributes.get("pads", [0] * 2 * rank)
    begin, end = pads[:rank], pads[rank:]
    convolve = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[rank]
    group = call.attributes.get("group", 1)
    low = [min(pair) for pair in zip(begin, end, strict=True)]
    result: Tensor = convolve(x, weight, bias, tuple(strides), tuple(low), tuple(rest), group, tuple(dilations))
    for axis, (first, last, least) in enumerate(zip(begin, end, low, strict=True), start=2):
        result = result.narrow(axis, first - least, result.shape[axis] - (first + last - 2 * least))
    return result


def _conv_transpose_charge(shapes: Charged) -> int:
    # The weight is (input channels, output channels of one group, window).
    weight = shapes.inputs[1] or ()
    has_bias = len(shapes.inputs) > 2 and shapes.inputs[2] is not None
    return 2 * shapes.input_size * math.prod(weight[1:]) + has_bias * shapes.output_size


OPERATORS = (
    Operator("Gemm", _gemm, _gemm_charge),
    Operator("MatMul", lambda call: torch.matmul(call[0], call[1]), _matmul_charge),
    Operator("Conv", _conv, _conv_charge),
    Operator("ConvTranspose", _conv_transpose, _conv_transpose_charge),
)
