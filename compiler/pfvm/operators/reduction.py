"""Reductions over axes, index of the extreme, softmax."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from compiler.pfvm.operators.record import Call, Charged, Operator, per_input, per_output

Reduce = Callable[[Tensor, tuple[int, ...], bool], Tensor]


def reduce_axes(call: Call, rank: int) -> tuple[int, ...] | None:
    """Axes of a reduction; all of them if none are given; None if nothing is to be reduced."""
    axes = call.ints(1, "axes")
    if not axes:
        return None if call.attributes.get("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(axes)


def _reduction(name: str, reduce: Reduce) -> Operator:
    def evaluate(call: Call) -> Tensor:
        axes = reduce_axes(call, call[0].ndim)
        if axes is None:
            return call[0]
        if not axes:
            return reduce(call[0].reshape(1), (0,), False)
        return reduce(call[0], axes, bool(call.attributes.get("keepdims", 1)))

    return Operator(name, evaluate, per_input(1))


def sum_axes(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    """Sum that keeps the element type (torch widens small integers)."""
    return torch.sum(x, dim=axes, keepdim=keep, dtype=x.dtype)


def _product(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    for axis in sorted((a % x.ndim for a in axes), reverse=True):
        x = torch.prod(x, dim=axis, keepdim=keep, dtype=x.dtype)
    return x


def _arg_extreme(name: str, find: Callable[..., Tensor]) -> Operator:
    def evaluate(call: Call) -> Tensor:
        axis = int(call.attributes.get("axis", 0))
        keep = bool(call.attributes.get("keepdims", 1))
        if not call.attributes.get("select_last_index", 0):
            return find(call[0], dim=axis, keepdim=keep)
        return call[0].shape[axis] - 1 - find(call[0].flip(axis), dim=axis, keepdim=keep)

    # Candidate A of compiler.md 13.2: one operation for each result.
    return Operator(name, evaluate, per_output(1))


def _softmax_charge(shapes: Charged) -> int:
    size = shapes.output_size
    extent = shapes.outputs[0][int(shapes.attributes.get("axis", -1))]
    return 2 * size + size // extent * (extent - 1)


def _softmax(call: Call) -> Tensor:
    return torch.softmax(call[0], dim=int(call.attributes.get("axis", -1)))


def _log_softmax(call: Call) -> Tensor:
    return torch.log_softmax(call[0], dim=int(call.attributes.get("axis", -1)))


OPERATORS = (
    _reduction("ReduceSum", sum_axes),
    _reduction("ReduceMean", lambda x, axes, keep: torch.mean(x, dim=axes, keepdim=keep)),
    _reduction("ReduceMax", lambda x, axes, keep: torch.amax(x, dim=axes, keepdim=keep)),
    _reduction("ReduceMin", lambda x, axes, keep: torch.amin(x, dim=axes, keepdim=keep)),
    _reduction("ReduceProd", _product),
    _reduction("ReduceL1", lambda x, axes, keep: sum_axes(torch.abs(x), axes, keep)),
    _reduction("ReduceL2", lambda x, axes, keep: torch.sqrt(sum_axes(x * x, axes, keep))),
    _reduction("ReduceSumSquare", lambda x, axes, keep: sum_axes(x * x, axes, keep)),
    _reduction("ReduceLogSumExp", lambda x, axes, keep: torch.logsumexp(x, dim=axes, keepdim=keep)),
    _arg_extreme("ArgMax", torch.argmax),
    _arg_extreme("ArgMin", torch.argmin),
    Operator("Softmax", _softmax, _softmax_charge),
    Operator("LogSoftmax", _log_softmax, _softmax_charge),
)
