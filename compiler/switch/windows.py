"""Which element each place of each window of a convolution or pooling takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.layout.levels import IntArray


def window_elements(extents: Sequence[int], attrs: Mapping[str, Any]) -> IntArray:
    """Row-major number of the spatial element at each place of each window, -1 in the padding; int64[*kernel, *places].

    attrs: those of a MNCoreWindows node.
    """
    rank = len(extents)
    total = np.zeros((1,) * 2 * rank, np.int64)
    inside = np.ones((1,) * 2 * rank, bool)
    for axis, extent in enumerate(extents):
        kernel, places = attrs["kernel_shape"][axis], attrs["places"][axis]
        index = np.add.outer(
            np.arange(kernel) * attrs["dilations"][axis], np.arange(places) * attrs["strides"][axis]
        ) - attrs["starts"][axis]
        shape = [1] * 2 * rank
        shape[axis], shape[rank + axis] = kernel, places
        index = index.reshape(shape)
        total = total + index * math.prod(extents[axis + 1 :])
        inside = inside & (index >= 0) & (index < extent)
    return np.where(inside, total, -1)


def windows(numbers: IntArray, shape: Sequence[int], attrs: Mapping[str, Any]) -> IntArray:
    """Element numbers (batch, channels, *spatial) as the windows of a MNCoreWindows node of the given shape, -1 in the
    padding.
    """
    inside = window_elements(numbers.shape[2:], attrs)
    flat = numbers.reshape(*numbers.shape[:2], -1)
    taken = np.where(inside < 0, -1, flat[:, :, np.maximum(inside, 0)])
    return taken.reshape(shape)
