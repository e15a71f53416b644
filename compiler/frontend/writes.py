"""Writes into a part of a tensor, as operators that the chip has: caches that are updated by slices or at an index.

The translation to ONNX would make ScatterND of all of them.  A slice or a position known at compile time becomes a
concatenation of what stays and what is new; positions that are tensors become ScatterElements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten


def slice_scatter(
    x: torch.Tensor,
    source: torch.Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    """`x` with `x[start:end]` along `dim` replaced by `source`; other steps than 1 are left as they are."""
    if step != 1:
        return NotImplemented
    extent = x.shape[dim]
    first, last, _ = slice(start, end).indices(extent)
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


def index_put(
    x: torch.Tensor, indices: Sequence[torch.Tensor | None], values: torch.Tensor, accumulate: bool = False
) -> Any:
    """`x[:, index] = values` with one vector of integers; everything else is left as it is."""
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if accumulate or len(given) != 1 or given[0][1].dim() != 1 or given[0][1].dtype == torch.bool:
        return NotImplemented
    dim, index = given[0]
    shape = list(x.shape)
    shape[dim] = index.shape[0]
    return index_copy(x, dim, index, values.expand(shape))


RULES: dict[Any, Callable[..., Any]] = {
    _aten.slice_scatter.default: slice_scatter,
    _aten.select_scatter.default: select_scatter,
    _aten.index_copy.default: index_copy,
    _aten.index_put.default: index_put,
}
