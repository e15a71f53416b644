"""Reading by tensors of indices, as operators that the devices have.

The translation to ONNX would make GatherND of `x[index]` and EyeLike of a diagonal.  Here index tensors become places
along one axis, which is Gather, and a diagonal becomes a slice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten


class Places:
    """What `x[indices]` addresses: the indexed axes are brought together, flattened, and addressed by one vector.

    `axis`: where they stand then.  `vector`: the places along it.  `shape`: of the index tensors together.
    """

    def __init__(self, x: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> None:
        given = {dim: index for dim, index in enumerate(indices) if index is not None}
        dims = list(given)
        adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
        self.axis = dims[0] if adjacent else 0
        rest = [dim for dim in range(x.dim()) if dim not in given]
        self.order = [*rest[: self.axis], *dims, *rest[self.axis :]]
        self.extents = [x.shape[dim] for dim in dims]
        self.moved = [x.shape[dim] for dim in self.order]
        self.rest = [x.shape[dim] for dim in rest]
        tensors = torch.broadcast_tensors(*given.values())
        self.shape = list(tensors[0].shape)
        self.vector = _inside(tensors[0].reshape(-1), self.extents[0])
        for index, extent in zip(tensors[1:], self.extents[1:], strict=True):
            self.vector = self.vector * extent + _inside(index.reshape(-1), extent)

    def flatten(self, x: torch.Tensor) -> torch.Tensor:
        """x with all indexed axes as one."""
        return x.permute(self.order).reshape(self._around([math.prod(self.extents)]))

    def restore(self, flat: torch.Tensor) -> torch.Tensor:
        """The inverse of `flatten`."""
        back = [self.order.index(dim) for dim in range(len(self.order))]
        return flat.reshape(self.moved).permute(back)

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        """Values for the places, with one axis for all of them."""
        return values.expand(self._around(self.shape)).reshape(self._around([math.prod(self.shape)]))

    def taken(self, flat: torch.Tensor) -> torch.Tensor:
        """What lies at the places, in the shape of the whole expression."""
        return flat.index_select(self.axis, self.vector).reshape(self._around(self.shape))

    def _around(self, extents: list[int]) -> list[int]:
        return [*self.rest[: self.axis], *extents, *self.rest[self.axis :]]


def _inside(index: torch.Tensor, extent: int) -> torch.Tensor:
    """Negative indices count from the end."""
    return torch.where(index < 0, index + extent, index)


def by_integers(indices: Sequence[torch.Tensor | None]) -> bool:
    """Whether no index tensor is a mask (the shape of a selection by a mask depends on its contents)."""
    return all(index is None or index.dtype not in (torch.bool, torch.uint8) for index in indices)


def index(x: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> Any:
    """`x[:, i, j]` with tensors of integers."""
    if not by_integers(indices):
        return NotImplemented
    places = Places(x, indices)
    return places.taken(places.flatten(x))


def diagonal(x: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> torch.Tensor:
    """The elements whose places along the two axes differ by `offset`, along a new last axis."""
    moved = x.movedim((dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    start = offset if offset >= 0 else -offset * columns
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    flat = moved.reshape(*moved.shape[:-2], rows * columns)
    return flat[..., start : start + length * (columns + 1) : columns + 1][..., :length]


RULES: dict[Any, Callable[..., Any]] = {
    _aten.index.Tensor: index,
    _aten._unsafe_index.Tensor: index,
    _aten.diagonal.default: diagonal,
}
