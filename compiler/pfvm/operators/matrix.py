"""Matrix products and convolution."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from compiler.pfvm.operators.record import Call, Charged, Operator
from compiler.pfvm.operators.windows import spatial_padding


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
    begin, end = spatial_padding(call.attributes, list(x.shape[2:]), list(weight.shape[2:]), strides, dilations)
    if begin == end:
        padding = begin
    else:
        x = F.pad(x, [p for pair in zip(reversed(begin), reversed(end), strict=True) for p in pair])
        padding = [0] * rank
    convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    group = call.attributes.get("group", 1)
    result: Tensor = convolve(x, weight, bias, tuple(strides), tuple(padding), tuple(dilations), group)
    return result


def _conv_charge(shapes: Charged) -> int:
    # The weight is (output channels, input channels of one group, window).
    weight = shapes.inputs[1] or ()
    has_bias = len(shapes.inputs) > 2 and shapes.inputs[2] is not None
    return shapes.output_size * (2 * math.prod(weight[1:]) + has_bias)


OPERATORS = (
    Operator("Gemm", _gemm, _gemm_charge),
    Operator("MatMul", lambda call: torch.matmul(call[0], call[1]), _matmul_charge),
    Operator("Conv", _conv, _conv_charge),
)
