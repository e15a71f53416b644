"""Arithmetic on elements with numpy broadcasting: one input, two, any number."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from compiler.pfvm.operators.record import Call, Charge, Operator, per_output

Unary = Callable[[Tensor], Tensor]
Binary = Callable[[Tensor, Tensor], Tensor]


def _unary(name: str, function: Unary, charge: Charge) -> Operator:
    return Operator(name, lambda call: function(call[0]), charge)


def _binary(name: str, function: Binary) -> Operator:
    return Operator(name, lambda call: function(call[0], call[1]), per_output(1))


def _nary(name: str, function: Callable[[Sequence[Tensor]], Tensor]) -> Operator:
    # n inputs take n-1 operations for each element.
    return Operator(
        name,
        lambda call: function(call.present()),
        lambda shapes: max(len(shapes.inputs) - 1, 0) * shapes.output_size,
    )


def _divide(a: Tensor, b: Tensor) -> Tensor:
    return torch.div(a, b) if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


def _power(a: Tensor, b: Tensor) -> Tensor:
    # The result has the type of the base, whatever the exponent is.
    return torch.pow(a, b).to(a.dtype)


def _modulo(call: Call) -> Tensor:
    return torch.fmod(call[0], call[1]) if call.attributes.get("fmod", 0) else torch.remainder(call[0], call[1])


def _clip(call: Call) -> Tensor:
    low, high = call.optional(1), call.optional(2)
    value = call[0]
    value = value if low is None else torch.maximum(value, low)
    return value if high is None else torch.minimum(value, high)


def _leaky_relu(call: Call) -> Tensor:
    return F.leaky_relu(call[0], call.attributes.get("alpha", 0.01))


def _elu(call: Call) -> Tensor:
    return F.elu(call[0], call.attributes.get("alpha", 1.0))


def _selu(call: Call) -> Tensor:
    alpha = call.attributes.get("alpha", 1.67326319217681884765625)
    gamma = call.attributes.get("gamma", 1.05070102214813232421875)
    return gamma * torch.where(call[0] > 0, call[0], alpha * torch.expm1(call[0]))


def _hard_sigmoid(call: Call) -> Tensor:
    alpha, beta = call.attributes.get("alpha", 0.2), call.attributes.get("beta", 0.5)
    return torch.clamp(call[0] * alpha + beta, 0, 1)


def _gelu(call: Call) -> Tensor:
    return F.gelu(call[0], approximate=call.attributes.get("approximate", "none"))


def _mean(values: Sequence[Tensor]) -> Tensor:
    return functools.reduce(torch.add, values) / len(values)


OPERATORS = (
    # Candidate A of compiler.md 13.2 charges Relu two operations for each element.
    _unary("Relu", torch.relu, per_output(2)),
    _unary("Neg", torch.neg, per_output(1)),
    _unary("Abs", torch.abs, per_output(1)),
    _unary("Sqrt", torch.sqrt, per_output(1)),
    _unary("Exp", torch.exp, per_output(1)),
    _unary("Log", torch.log, per_output(1)),
    _unary("Reciprocal", torch.reciprocal, per_output(1)),
    _unary("Floor", torch.floor, per_output(1)),
    _unary("Ceil", torch.ceil, per_output(1)),
    _unary("Round", torch.round, per_output(1)),
    _unary("Sign", torch.sign, per_output(1)),
    _unary("Erf", torch.erf, per_output(1)),
    _unary("Sin", torch.sin, per_output(1)),
    _unary("Cos", torch.cos, per_output(1)),
    _unary("Tan", torch.tan, per_output(1)),
    _unary("Asin", torch.asin, per_output(1)),
    _unary("Acos", torch.acos, per_output(1)),
    _unary("Atan", torch.atan, per_output(1)),
    _unary("Sinh", torch.sinh, per_output(4)),
    _unary("Cosh", torch.cosh, per_output(4)),
    _unary("Asinh", torch.asinh, per_output(4)),
    _unary("Acosh", torch.acosh, per_output(4)),
    _unary("Atanh", torch.atanh, per_output(4)),
    _unary("BitwiseNot", torch.bitwise_not, per_output(1)),
    _unary("Sigmoid", torch.sigmoid, per_output(4)),
    _unary("Tanh", torch.tanh, per_output(4)),
    _unary("Softplus", F.softplus, per_output(4)),
    _unary("Softsign", F.softsign, per_output(4)),
    _unary("Mish", F.mish, per_output(4)),
    _unary("HardSwish", F.hardswish, per_output(4)),
    Operator("LeakyRelu", _leaky_relu, per_output(2)),
    Operator("Elu", _elu, per_output(2)),
    Operator("Celu", lambda call: F.celu(call[0], call.attributes.get("alpha", 1.0)), per_output(2)),
    Operator("Selu", _selu, per_output(2)),
    Operator("HardSigmoid", _hard_sigmoid, per_output(4)),
    Operator("Gelu", _gelu, per_output(4)),
    Operator("Clip", _clip, per_output(2)),
    _binary("Add", torch.add),
    _binary("Sub", torch.sub),
    _binary("Mul", torch.mul),
    _binary("Div", _divide),
    _binary("Pow", _power),
    _binary("PRelu", lambda x, slope: torch.where(x < 0, x * slope, x)),
    Operator("Mod", _modulo, per_output(1)),
    _binary("BitwiseAnd", torch.bitwise_and),
    _binary("BitwiseOr", torch.bitwise_or),
    _binary("BitwiseXor", torch.bitwise_xor),
    _nary("Max", lambda values: functools.reduce(torch.maximum, values)),
    _nary("Min", lambda values: functools.reduce(torch.minimum, values)),
    _nary("Sum", lambda values: functools.reduce(torch.add, values)),
    _nary("Mean", _mean),
)
