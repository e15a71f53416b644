"""Time slices of a layout: a value that is cut along one axis, whole in DRAM and slice by slice in local memory.

The layout of a cut value has a Time digit outermost on the cut axis: slice s holds the indices from s x (extent of the
slice layout) on.  Its DRAM image is the images of the slices one after the other, so that a slice is a part of it.
Source: compiler.md 5 (R7, R8) and 7.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.layout.layout import Layout
from compiler.layout.levels import Level
from compiler.layout.pad_layout import PadLayout
from compiler.layout.terms import Axis, SubAxis


def with_time(piece: Layout, axis: int, shape: Sequence[int]) -> PadLayout:
    """The layout of a value of `shape` whose slices along `axis` each lie as in `piece` (the last one in part)."""
    slices = -(-shape[axis] // piece.axes[axis].extent)
    axes = list(piece.axes)
    axes[axis] = Axis((SubAxis(slices, Level.TIME, 1), *axes[axis]))
    return PadLayout(tuple(shape), Layout(tuple(axes), piece.broadcast))


def without_time(layout: Layout) -> Layout:
    """The layout of one slice."""
    axes = tuple(Axis(tuple(sub for sub in axis if sub.level is not Level.TIME)) for axis in layout.axes)
    return Layout(axes, layout.broadcast)


def time_axis(layout: Layout) -> int | None:
    """The axis that is cut into several slices, or None."""
    return next((axis for axis, _, sub in layout.digits(Level.TIME) if sub.extent > 1), None)


def addressed(whole: PadLayout) -> PadLayout:
    """The layout in local memory of all slices at once, one after the other: Time digits become address digits."""
    block = whole.num_lw

    def placed(sub: SubAxis) -> SubAxis:
        return SubAxis(sub.extent, Level.ADDR, sub.stride * block) if sub.level is Level.TIME else sub

    axes = tuple(Axis(tuple(map(placed, axis))) for axis in whole.layout.axes)
    return PadLayout(whole.shape, Layout(axes, whole.layout.broadcast))
