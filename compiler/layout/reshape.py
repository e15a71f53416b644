"""Reshapes that move nothing: the same digits, dealt out to the axes of another shape (compiler.md R9).

Every digit of a layout has a weight in the row-major flat index.  A reshape keeps flat indices, so it is free exactly
when the digits, innermost first, chain up to the new axes: the weights 1, e1, e1*e2, ... inside each axis.  A digit
that crosses the border of two new axes is cut there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.layout.canonical import merge_subaxes, unit_levels
from compiler.layout.errors import LayoutError
from compiler.layout.indexmap import row_major_strides
from compiler.layout.layout import Layout
from compiler.layout.pad_layout import PadLayout
from compiler.layout.terms import Axis, SubAxis


@dataclass(frozen=True)
class _Digit:
    sub: SubAxis
    axis: int
    weight: int  # in the index of the old axis
    flat_weight: int  # in the flat index of the unpadded tensor
    padding: bool  # 0 for every real element: lies wholly beyond the old axis' extent

    def cut(self, inner: int, old_extent: int) -> tuple[_Digit, _Digit]:
        """The digit as an outer and an inner digit, the inner one of extent `inner`."""
        extent, level, stride = self.sub.extent, self.sub.level, self.sub.stride
        outer = replace(
            self,
            sub=SubAxis(extent // inner, level, stride * inner),
            weight=self.weight * inner,
            flat_weight=self.flat_weight * inner,
            padding=self.weight * inner >= old_extent,
        )
        return outer, replace(self, sub=SubAxis(inner, level, stride))


def _digits(pad_layout: PadLayout) -> list[_Digit]:
    """All digits of extent above 1, outermost first."""
    strides = row_major_strides(pad_layout.shape)
    return [
        _Digit(sub, number, weight, weight * strides[number], weight >= pad_layout.shape[number])
        for number, axis in enumerate(pad_layout.layout.axes)
        for weight, sub in axis.weighted()
        if sub.extent > 1
    ]


def _take_axis(stack: list[_Digit], extent: int, stride: int, old_shape: Sequence[int]) -> list[_Digit] | None:
    """Take the digits of one new axis from the end of `stack` (innermost last); None when they do not chain up."""
    taken: list[_Digit] = []
    reach = 1
    while stack:
        digit = stack[-1]
        if not digit.padding:
            if reach >= extent:
                break
            if digit.flat_weight != stride * reach:
                return None
            if digit.sub.extent * reach > extent and extent % reach == 0 and digit.sub.extent % (extent // reach) == 0:
                outer, digit = digit.cut(extent // reach, old_shape[digit.axis])
                stack[-1:] = [outer, digit]
        elif reach < extent:
            return None  # padding below a digit that counts: the elements are not evenly spaced
        stack.pop()
        taken.insert(0, digit)
        reach *= digit.sub.extent
    return taken if reach >= extent else None


def _new_axis(taken: list[_Digit], pad_layout: PadLayout) -> Axis:
    """The axis made of `taken`; an old axis that comes through whole keeps its spelling."""
    origins = {digit.axis for digit in taken}
    if len(origins) == 1:
        axis = pad_layout.layout.axes[origins.pop()]
        if [digit.sub for digit in taken] == [sub for sub in axis if sub.extent > 1]:
            return axis
    return Axis(tuple(merge_subaxes(digit.sub for digit in taken)))


def merge_reshape(pad_layout: PadLayout, new_shape: Sequence[int]) -> PadLayout | None:
    """The layout of the same data seen with `new_shape`, or None when elements would have to move.

    Merges axes ((16_MAB:1, 2:4), (2:2, 4_W:1, 4_PE:1) -> (16_MAB:1, 4:2, 4_W:1, 4_PE:1)), splits them, or both;
    no element changes its place.  Only outermost digits of a new axis may hold padding.  LayoutError when the shapes
    have different numbers of elements.
    """
    old_shape, shape = pad_layout.shape, tuple(new_shape)
    before, after = math.prod(old_shape), math.prod(shape)
    if before != after:
        raise LayoutError(f"reshape of {old_shape} to {shape}: {before} elements cannot become {after}")
    if shape == old_shape:
        return pad_layout
    if 0 in shape:
        return None  # nothing to place, hence nothing that fixes a layout
    stack = _digits(pad_layout)
    axes: list[Axis] = []
    for extent, stride in zip(reversed(shape), reversed(row_major_strides(shape)), strict=True):
        taken = _take_axis(stack, extent, stride, old_shape)
        if taken is None:
            return None
        axes.insert(0, _new_axis(taken, pad_layout))
    if stack:
        return None
    return _with_units(pad_layout, shape, axes)


def _with_units(pad_layout: PadLayout, shape: tuple[int, ...], axes: list[Axis]) -> PadLayout | None:
    """Put back digits of extent 1 that alone name a level: without them the level would count as broadcast."""
    old = pad_layout.layout
    lost = set(unit_levels(old.axes, old.broadcast)) - {sub.level for axis in axes for sub in axis}
    if lost and not axes:
        return None
    if lost:
        axes[0] = Axis((*(SubAxis(1, level) for level in sorted(lost)), *axes[0]))
    return PadLayout(shape, Layout(tuple(axes), old.broadcast))
