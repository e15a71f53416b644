"""Which element each place of each window of a convolution or pooling takes, and each tap of a filter.

Attributes of MNCoreWindows: kernel_shape, strides, dilations, starts (padding before the first element), places (of
the result), fill; `back`: the other way, each place of the result takes the elements of the windows that cover it;
`fold`: the source has an axis of taps (batch, taps, *spatial, channels), else it is (batch, channels, *spatial);
`slots`: 1 where windows of a `back` never overlap, so that no axis of taps is left; `joined`: taps and channels are one
last axis (batch, *places, taps * channels), else the result is (batch, taps, *places, channels).
"""

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
        kernel, places, stride = (int(attrs[name][axis]) for name in ("kernel_shape", "places", "strides"))
        taps, start = np.arange(kernel) * int(attrs["dilations"][axis]), int(attrs["starts"][axis])
        steps = np.arange(places) * int(attrs["skips"][axis] if "skips" in attrs else 1)
        if attrs.get("back", 0):
            reach = np.add.outer(-taps, steps + start)
            index = np.where(reach % stride == 0, reach // stride, -1)
        else:
            index = np.add.outer(taps, steps * stride - start)
        shape = [1] * 2 * rank
        shape[axis], shape[rank + axis] = kernel, places
        index = index.reshape(shape)
        total = total + index * math.prod(extents[axis + 1 :])
        inside = inside & (index >= 0) & (index < extent)
    return np.where(inside, total, -1)


def windows(numbers: IntArray, shape: Sequence[int], attrs: Mapping[str, Any]) -> IntArray:
    """Element numbers of the source as the windows of a MNCoreWindows node of the given shape, -1 in the padding."""
    fold = attrs.get("fold", 0)
    extents = numbers.shape[2:-1] if fold else numbers.shape[2:]
    inside = window_elements(extents, attrs).reshape(math.prod(attrs["kernel_shape"]), -1)
    if fold:
        source = numbers.reshape(numbers.shape[0], -1, numbers.shape[-1])
        taps = np.arange(len(inside))[:, None] * math.prod(extents)
        inside = np.where(inside < 0, -1, inside + taps)
    else:
        source = numbers.reshape(*numbers.shape[:2], -1).swapaxes(1, 2)
    if attrs.get("slots", 0) == 1:
        inside = inside.max(axis=0, keepdims=True)
    taken = np.where(inside[None, ..., None] < 0, -1, source[:, np.maximum(inside, 0)])
    return (taken.swapaxes(1, 2) if attrs.get("joined", 0) else taken).reshape(shape)


def filter_elements(numbers: IntArray, attrs: Mapping[str, Any]) -> IntArray:
    """Numbers of a filter (outputs, channels of a group, *kernel) as an operand of a product with windows: (outputs,
    taps * channels), `back`: (channels, taps * outputs), `columns`: the other way round; -1 between the groups.
    """
    outputs, inside, groups = *numbers.shape[:2], int(attrs.get("group", 1))
    per_group = outputs // groups
    full: IntArray = np.full((outputs, groups, inside, math.prod(numbers.shape[2:])), -1)
    for k in range(groups):
        rows = slice(k * per_group, (k + 1) * per_group)
        full[rows, k] = numbers[rows].reshape(per_group, inside, -1)
    full = full.reshape(outputs, groups * inside, -1)
    if attrs.get("back", 0):
        found = full.transpose(1, 2, 0).reshape(groups * inside, -1)
    else:
        found = full.transpose(0, 2, 1).reshape(outputs, -1)
    return found.T if attrs.get("columns", 0) else found


def filter_places(numbers: IntArray, shape: Sequence[int], attrs: Mapping[str, Any]) -> IntArray:
    """Numbers of an operand as the filter of the given shape: `filter_elements` undone."""
    size = math.prod(shape)
    places = filter_elements(np.arange(size).reshape(shape), attrs)
    found = np.empty(size, np.int64)
    found[places[places >= 0]] = numbers[places >= 0]
    return found.reshape(shape)
