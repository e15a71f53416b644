"""Comparisons, booleans, choice and conversion of element types."""

from __future__ import annotations

import torch
from torch import Tensor

from compiler.pfvm.dtypes import torch_dtype
from compiler.pfvm.operators.record import Call, Operator, per_output


def convert(value: Tensor, dtype: torch.dtype) -> Tensor:
    """ONNX Cast: as torch converts; a no-op returns the tensor itself."""
    return value.to(dtype)


def _cast(call: Call) -> Tensor:
    return convert(call[0], torch_dtype(call.attributes["to"]))


def _is_infinite(call: Call) -> Tensor:
    found = torch.isinf(call[0])
    if not call.attributes.get("detect_positive", 1):
        found = found & (call[0] < 0)
    return found if call.attributes.get("detect_negative", 1) else found & (call[0] > 0)


OPERATORS = (
    # Candidate A of compiler.md 13.2 charges a comparison by its two inputs.
    Operator("Equal", lambda call: torch.eq(call[0], call[1]), per_output(2)),
    Operator("Less", lambda call: torch.lt(call[0], call[1]), per_output(2)),
    Operator("LessOrEqual", lambda call: torch.le(call[0], call[1]), per_output(2)),
    Operator("Greater", lambda call: torch.gt(call[0], call[1]), per_output(2)),
    Operator("GreaterOrEqual", lambda call: torch.ge(call[0], call[1]), per_output(2)),
    Operator("And", lambda call: torch.logical_and(call[0], call[1]), per_output(1)),
    Operator("Or", lambda call: torch.logical_or(call[0], call[1]), per_output(1)),
    Operator("Xor", lambda call: torch.logical_xor(call[0], call[1]), per_output(1)),
    Operator("Not", lambda call: torch.logical_not(call[0]), per_output(1)),
    Operator("IsInf", _is_infinite, per_output(1)),
    Operator("IsNaN", lambda call: torch.isnan(call[0]), per_output(1)),
    Operator("Where", lambda call: torch.where(call[0], call[1], call[2]), per_output(1)),
    Operator("Cast", _cast, per_output(1)),
    Operator("CastLike", lambda call: convert(call[0], call[1].dtype), per_output(1)),
)
