"""Gradients of convolutions and poolings, of domain `mncore`: the result is like the first input.

`ChainerConvGradWeight` (filter, input, gradient), `ChainerMaxPoolGrad` and `ChainerAveragePoolGrad` (input, gradient),
with the attributes of Conv, MaxPool and AveragePool.
"""

from __future__ import annotations

import math
from dataclasses import replace

import onnx
import torch
from onnx.defs import OpSchema
from torch import Tensor

from compiler.domain import DOMAIN, VERSION
from compiler.pfvm.operators.record import Call, Charged, Operator
from compiler.pfvm.operators.windows import average_pool, largest_of_windows, padded_evenly

CONV_GRAD_WEIGHT, MAX_POOL_GRAD, AVERAGE_POOL_GRAD = (
    "ChainerConvGradWeight",
    "ChainerMaxPoolGrad",
    "ChainerAveragePoolGrad",
)
_INPUTS = {
    CONV_GRAD_WEIGHT: ("weight", "x", "gradient"),
    MAX_POOL_GRAD: ("x", "gradient"),
    AVERAGE_POOL_GRAD: ("x", "gradient"),
}
_DOC = {
    CONV_GRAD_WEIGHT: "Gradient of the filter of Conv; of `weight` only the shape counts.",
    MAX_POOL_GRAD: "Gradient of the input of MaxPool; the first largest element of a window gets all of it.",
    AVERAGE_POOL_GRAD: "Gradient of the input of AveragePool; of `x` only the shape counts.",
}


def _conv_grad_weight(call: Call) -> Tensor:
    weight, gradient = call[0], call[2]
    rank = weight.ndim - 2
    strides, dilations = (call.attributes.get(name, [1] * rank) for name in ("strides", "dilations"))
    x, padding = padded_evenly(call.attributes, call[1], list(weight.shape[2:]), strides, dilations)
    group, no_rest = call.attributes.get("group", 1), [0] * rank
    result: Tensor = torch.ops.aten.convolution_backward(
        gradient, x, weight, None, strides, padding, dilations, False, no_rest, group, [False, True, False]
    )[1]
    return result


def _max_pool_grad(call: Call) -> Tensor:
    with torch.enable_grad():
        x = call[0].detach().requires_grad_()
        return torch.autograd.grad(largest_of_windows(replace(call, inputs=[x])), x, call[1])[0]


def _average_pool_grad(call: Call) -> Tensor:
    with torch.enable_grad():
        x = torch.zeros_like(call[0]).requires_grad_()
        return torch.autograd.grad(average_pool(replace(call, inputs=[x])), x, call[1])[0]


def _charge(shapes: Charged) -> int:
    """A multiplication and an addition for each element of the gradient and of a window."""
    if "kernel_shape" in shapes.attributes:
        return 2 * math.prod(shapes.inputs[1] or ()) * math.prod(int(k) for k in shapes.attributes["kernel_shape"])
    return 2 * math.prod(shapes.inputs[2] or ()) * math.prod((shapes.inputs[0] or ())[1:])


OPERATORS = (
    Operator(CONV_GRAD_WEIGHT, _conv_grad_weight, _charge, domain=DOMAIN),
    Operator(MAX_POOL_GRAD, _max_pool_grad, _charge, domain=DOMAIN),
    Operator(AVERAGE_POOL_GRAD, _average_pool_grad, _charge, domain=DOMAIN),
)


def _infer(context: onnx.shape_inference.InferenceContext) -> None:
    first = context.get_input_type(0)
    if first is not None:
        context.set_output_type(0, first)


def schemas() -> list[OpSchema]:
    """The ONNX schemas of these operators."""
    found = []
    for name, inputs in _INPUTS.items():
        vectors = ["strides", "pads", "dilations", "kernel_shape"]
        attributes = [OpSchema.Attribute(v, OpSchema.AttrType.INTS, "per axis", required=False) for v in vectors]
        attributes += [
            OpSchema.Attribute(n, OpSchema.AttrType.INT, "as in Conv and the poolings", required=False)
            for n in ("group", "ceil_mode", "count_include_pad")
        ]
        schema = OpSchema(
            name,
            DOMAIN,
            VERSION,
            doc=_DOC[name],
            inputs=[OpSchema.FormalParameter(n, "T") for n in inputs],
            outputs=[OpSchema.FormalParameter("y", "T")],
            type_constraints=[("T", ["tensor(float)", "tensor(double)"], "any float")],
            attributes=attributes,
        )
        schema.set_type_and_shape_inference_function(_infer)
        found.append(schema)
    return found
