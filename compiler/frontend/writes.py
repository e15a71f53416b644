"""Writes into a part of a tensor, as operators that the chip has: caches that are updated by slices or at an index.

The translation to ONNX would make ScatterND of all of them.  A slice or a position known at compile time becomes a
concatenation of what stays and what is new, one with a step also a selection from it; positions that are tensors become
ScatterElements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from compiler.frontend.indexing import Places, by_integers

_aten = torch.ops.aten


def slice_scatter(
    x: torch.Tensor,
    source: torch.Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    """`x` with `x[start:end:step]` along `dim` replaced by `source`."""
    extent = x.shape[dim]
    first, last, _ = slice(start, end).indices(extent)
    if step != 1 and last > first:
        places = torch.arange(extent)
        new = (places >= first) & (places < last) & ((places - first) % step == 0)
        chosen = torch.where(new, extent + (places - first) // step, places)
        shape = list(x.shape)
        shape[dim] = len(range(first, last, step))
        return torch.cat([x, source.expand(shape)], dim).index_select(dim, chosen)
    parts = [x.narrow(dim, 0, first)] if first else []
    if last > first:
        parts.append(source.expand(*x.narrow(dim, first, last - first).shape))
    last = max(first, last)
    parts += [x.narrow(dim, last, extent - last)] if last < extent else []
    return torch.cat(parts, dim) if len(parts) > 1 else parts[0].clone()


def select_scatter(x: torch.Tensor, source: torch.Tensor, dim: int, index: int) -> Any:
    """`x` with `x[index]` along `dim` replaced by `source`."""
    index %= x.shape[dim]
    return slice_scatter(x, source.unsqueeze(dim), dim, index, index + 1)


def index_copy(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> Any:
    """`x` with the positions `index` along `dim` replaced by `source`."""
    if not x.dim():
        return NotImplemented
    ones = [1] * x.dim()
    ones[dim] = -1
    return torch.scatter(x, dim, index.reshape(ones).expand(source.shape), source)


def index_add(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *, alpha: float = 1) -> Any:
    """`x` with `alpha * source` added at the positions `index` along `dim`; equal positions add up."""
    if not x.dim():
        return NotImplemented
    source = source if alpha == 1 else source * alpha
    ones = [1] * x.dim()
    ones[dim] = -1
    return torch.scatter_add(x, dim, index.reshape(ones).expand(source.shape), source)


def index_put(
    x: torch.Tensor, indices: Sequence[torch.Tensor | None], values: torch.Tensor, accumulate: bool = False
) -> Any:
    """`x[:, i, j] = values` or, with `accumulate`, `+=`, with tensors of integers."""
    if not by_integers(indices):
        return NotImplemented
    places = Places(x, indices)
    write = index_add if accumulate else index_copy
    return places.restore(write(places.flatten(x), places.axis, places.vector, places.spread(values)))


def masked_put(
    x: torch.Tensor, indices: Sequence[torch.Tensor | None], values: torch.Tensor, accumulate: bool = False
) -> Any:
    """`x[mask] = value` with one value for all places, which is a choice; else as `index_put`."""
    (mask, *others) = indices
    if accumulate or others or mask is None or mask.dtype != torch.bool or values.numel() != 1:
        return index_put(x, indices, values, accumulate)
    mask = mask.reshape([*mask.shape, *[1] * (x.dim() - mask.dim())])
    return torch.where(mask, values.reshape(()).to(x.dtype), x)


def slice_backward(
    gradient: torch.Tensor, shape: Sequence[int], dim: int, start: int, end: int, step: int
) -> torch.Tensor:
    """The gradient of what `x[start:end:step]` along `dim` was cut from: zeros around."""
    extent = shape[dim]
    first, last, _ = slice(start, end).indices(extent)
    if step != 1 or last <= first:
        result: torch.Tensor = slice_scatter(gradient.new_zeros(shape), gradient, dim, start, end, step)
        return result
    behind = len(shape) - 1 - dim % len(shape)
    return torch.nn.functional.pad(gradient, [0, 0] * behind + [first, extent - last])


def select_backward(gradient: torch.Tensor, shape: Sequence[int], dim: int, index: int) -> torch.Tensor:
    """The gradient of what `x[index]` along `dim` was taken from."""
    index %= shape[dim]
    return slice_backward(gradient.unsqueeze(dim), shape, dim, index, index + 1, 1)


def embedding_dense_backward(
    gradient: torch.Tensor, index: torch.Tensor, rows: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The gradient of a table: rows that were read get the sum of what comes back, the padding row nothing."""
    if scale_grad_by_freq:
        return NotImplemented
    width = gradient.shape[-1]
    index, gradient = index.reshape(-1), gradient.reshape(-1, width)
    if padding_idx >= 0:
        gradient = torch.where((index != padding_idx).unsqueeze(-1), gradient, 0.0)
    return index_add(gradient.new_zeros(rows, width), 0, index, gradient)


RULES: dict[Any, Callable[..., Any]] = {
    _aten.slice_scatter.default: slice_scatter,
    _aten.select_scatter.default: select_scatter,
    _aten.slice_backward.default: slice_backward,
    _aten.select_backward.default: select_backward,
    _aten.embedding_dense_backward.default: embedding_dense_backward,
    _aten.index_copy.default: index_copy,
    _aten.index_add.default: index_add,
    _aten.index_put.default: masked_put,
    _aten._unsafe_index_put.default: masked_put,
}
