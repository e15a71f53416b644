"""Reading and writing by index."""

from __future__ import annotations

import torch
from torch import Tensor

from compiler.pfvm.operators.record import Call, Operator, free, per_output


def _positive(index: Tensor, extent: int) -> Tensor:
    return torch.where(index < 0, index + extent, index).to(torch.int64)


def _gather(call: Call) -> Tensor:
    x, index, axis = call[0], call[1], int(call.attributes.get("axis", 0))
    axis += x.ndim if axis < 0 else 0
    taken = x.index_select(axis, _positive(index, x.shape[axis]).reshape(-1))
    return taken.reshape((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


def _gather_elements(call: Call) -> Tensor:
    axis = int(call.attributes.get("axis", 0))
    return torch.gather(call[0], axis, _positive(call[1], call[0].shape[axis]))


def _scatter_elements(call: Call) -> Tensor:
    axis = int(call.attributes.get("axis", 0))
    index = _positive(call[1], call[0].shape[axis])
    mode = call.attributes.get("reduction", "none")
    if mode == "none":
        return call[0].scatter(axis, index, call[2])
    reduce = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[mode]
    return call[0].scatter_reduce(axis, index, call[2], reduce=reduce)


def _places(call: Call) -> tuple[Tensor, ...]:
    """Index tuples of GatherND and ScatterND, behind those of the batch axes."""
    x, index, batch = call[0], call[1], int(call.attributes.get("batch_dims", 0))
    lead = [
        torch.arange(x.shape[n], device=call.device).reshape([-1 if k == n else 1 for k in range(index.ndim - 1)])
        for n in range(batch)
    ]
    return (*lead, *(_positive(part, x.shape[batch + n]) for n, part in enumerate(index.unbind(-1))))


def _gather_nd(call: Call) -> Tensor:
    return call[0][_places(call)]


def _scatter_nd(call: Call) -> Tensor:
    mode, places = call.attributes.get("reduction", "none"), _places(call)
    if mode in ("none", "add"):
        return call[0].index_put(places, call[2], accumulate=mode == "add")
    raise ValueError(f"reduction '{mode}' is not supported; use none or add")


def _one_hot(call: Call) -> Tensor:
    index, values = call[0], call[2]
    depth = int(call[1].item())
    axis = int(call.attributes.get("axis", -1))
    # An index outside of [-depth, depth) matches no place, as the standard asks.
    wrapped = torch.where(index < 0, index + depth, index).unsqueeze(axis)
    shape = [1] * wrapped.ndim
    shape[axis] = depth
    hit = wrapped == torch.arange(depth, device=call.device).reshape(shape)
    return torch.where(hit, values[1], values[0])


def _top_k(call: Call) -> tuple[Tensor, Tensor]:
    k, axis = int(call[1].item()), int(call.attributes.get("axis", -1))
    # A stable sort decides between equal values by position, as the standard asks.
    largest = bool(call.attributes.get("largest", 1))
    values, index = torch.sort(call[0], dim=axis, descending=largest, stable=True)
    return values.narrow(axis, 0, k), index.narrow(axis, 0, k)


OPERATORS = (
    Operator("Gather", _gather, free),
    Operator("GatherElements", _gather_elements, free),
    Operator("ScatterElements", _scatter_elements, free),
    Operator("GatherND", _gather_nd, free),
    Operator("ScatterND", _scatter_nd, free),
    Operator("OneHot", _one_hot, per_output(1)),
    Operator("TopK", _top_k, per_output(1)),
)
