"""Normalisations and losses."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from compiler.pfvm.operators.record import Call, Operator, per_output


def _batch_normalization(call: Call) -> Tensor:
    if call.attributes.get("training_mode", 0):
        raise ValueError("training_mode=1 is not supported; export the step function, which opens it up")
    epsilon = call.attributes.get("epsilon", 1e-5)
    return F.batch_norm(call[0], call[3], call[4], call[1], call[2], training=False, eps=epsilon)


def _instance_normalization(call: Call) -> Tensor:
    return F.instance_norm(call[0], weight=call[1], bias=call[2], eps=call.attributes.get("epsilon", 1e-5))


def _layer_normalization(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    x, axis = call[0], int(call.attributes.get("axis", -1))
    axis += x.ndim if axis < 0 else 0
    axes = tuple(range(axis, x.ndim))
    mean = x.mean(axes, keepdim=True)
    deviation = x - mean
    inverse = torch.rsqrt((deviation * deviation).mean(axes, keepdim=True) + call.attributes.get("epsilon", 1e-5))
    y = deviation * inverse * call[1]
    bias = call.optional(2)
    return (y if bias is None else y + bias), mean, inverse


def _negative_log_likelihood(call: Call) -> Tensor:
    ignored = call.attributes.get("ignore_index", -100)
    reduction = call.attributes.get("reduction", "mean")
    return F.nll_loss(call[0], call[1], call.optional(2), ignore_index=ignored, reduction=reduction)


OPERATORS = (
    Operator("BatchNormalization", _batch_normalization, per_output(2)),
    Operator("InstanceNormalization", _instance_normalization, per_output(5)),
    Operator("LayerNormalization", _layer_normalization, per_output(5)),
    Operator(
        "NegativeLogLikelihoodLoss", _negative_log_likelihood, lambda shapes: 2 * math.prod(shapes.inputs[1] or ())
    ),
)
