"""Where the elements of a tensor lie, in the notation of the contest: ``((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1))``.

Axes are listed outer to inner, one group per dimension of the tensor; an axis is ``extent_LEVEL:stride`` or, for
addresses in long words, ``extent:stride`` (isa.md 16.3).  A level that no axis names holds copies of the data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

LEVELS = {"L2B": 8, "L1B": 8, "MAB": 16, "PE": 4, "ADDR": 0, "W": 2}
_AXIS = re.compile(r"(\d+)(?:_(L2B|L1B|MAB|PE|W))?:(\d+)")


@dataclass(frozen=True)
class Grid:
    """A tensor of 32-bit words as laid out in one memory.

    shape: of the tensor.  layout: as above, without a ``B@[..]`` part.
    """

    shape: tuple[int, ...]
    layout: str

    @cached_property
    def axes(self) -> list[list[tuple[int, str, int]]]:
        """Per dimension: (extent, level, stride), outer to inner."""
        groups = re.findall(r"\(([^()]*)\)", self.layout)
        found = [[(int(n), level or "ADDR", int(s)) for n, level, s in _AXIS.findall(group)] for group in groups]
        extents = tuple(int(np.prod([n for n, _, _ in axes])) for axes in found)
        if extents != self.shape:
            raise ValueError(f"layout {self.layout} holds {extents}, the tensor has the shape {self.shape}")
        return found

    @cached_property
    def coordinates(self) -> dict[str, NDArray[np.int64]]:
        """For every level the coordinate of each element (arrays of the tensor's shape)."""
        result = {level: np.zeros(self.shape, np.int64) for level in LEVELS}
        for dim, axes in enumerate(self.axes):
            rest = np.arange(self.shape[dim])
            for extent, level, stride in reversed(axes):
                part = (rest % extent) * stride
                rest = rest // extent
                result[level] += part.reshape([-1 if d == dim else 1 for d in range(len(self.shape))])
        return result

    @cached_property
    def long_words(self) -> int:
        """Long words of address space from the first to the last element."""
        return int(self.coordinates["ADDR"].max()) + 1

    def split(self, level: str) -> bool:
        """Does some axis name this level?"""
        return any(name == level for axes in self.axes for _, name, _ in axes)

    @cached_property
    def image_shape(self) -> tuple[int, ...]:
        """(L2B, L1B, MAB, PE, address, word); 1 where the level holds copies."""
        sizes = [LEVELS[level] if self.split(level) else 1 for level in ("L2B", "L1B", "MAB", "PE")]
        return (*sizes, self.long_words, 2)

    @cached_property
    def index(self) -> tuple[NDArray[np.int64], ...]:
        """Index arrays into an image."""
        return tuple(self.coordinates[level] for level in LEVELS)

    def place(self, elements: NDArray[np.generic]) -> NDArray[np.generic]:
        """The image of a tensor; words nobody fills are 0.  An axis over groups (`4_L2B:2`) means both L2Bs."""
        image = np.zeros(self.image_shape, elements.dtype)
        image[self.index] = elements.reshape(self.shape)
        if self.split("L2B") and not np.any(self.coordinates["L2B"] % 2):
            image[1::2] = image[0::2]
        return image

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """Which words of the image belong to the tensor."""
        return self.place(np.ones(self.shape, np.bool_)).astype(np.bool_)


def to_long_words(image: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Join the two words of the last axis, the first one on top."""
    return (image[..., 0].astype(np.uint64) << np.uint64(32)) | image[..., 1].astype(np.uint64)


def to_words(long_words: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Split long words into two words along a new last axis."""
    halves: Sequence[NDArray[np.uint32]] = (
        (long_words >> np.uint64(32)).astype(np.uint32),
        long_words.astype(np.uint32),
    )
    return np.stack(halves, axis=-1)
