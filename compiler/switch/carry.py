"""A layout for the result of a data-movement operator in which most elements stay where they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.layout import Axis, Broadcast, Layout, Level, PadLayout, SubAxis


def carried_layout(source: PadLayout, shape: tuple[int, ...], axis_of: Sequence[int | None]) -> PadLayout:
    """The layout of a tensor of `shape` whose axis k lies like axis `axis_of[k]` of `source` (None: in addresses).

    An axis that is longer than its model gets an outermost address digit, one that is shorter loses address digits it
    does not need.  Spatial digits of axes that nobody takes become copies.
    """
    axes: list[list[SubAxis]] = []
    fresh = 1 + max((sub.stride for axis in source.layout.axes for sub in axis), default=0)
    for extent, origin in zip(shape, axis_of, strict=True):
        subs = list(source.layout.axes[origin]) if origin is not None else []
        axes.append(_fitted(subs, extent, fresh))
    kept = {id(sub) for axis in axes for sub in axis if sub.level is not Level.ADDR}
    copies = list(source.layout.broadcast)
    for axis in source.layout.axes:
        copies += [
            Broadcast(sub.level, sub.extent, sub.stride)
            for sub in axis
            if sub.level not in (Level.ADDR, Level.TIME) and id(sub) not in kept and sub.extent > 1
        ]
    layout = Layout(tuple(Axis(tuple(subs)) for subs in packed(axes)), tuple(copies))
    return PadLayout(shape, layout.canonical())


def _fitted(subs: list[SubAxis], extent: int, fresh: int) -> list[SubAxis]:
    """Digits that hold `extent` elements; a new address digit has a stride of at least `fresh`."""
    have = math.prod(sub.extent for sub in subs)
    if have < extent:
        return [SubAxis(-(-extent // have), Level.ADDR, fresh), *subs]
    while subs and subs[0].level is Level.ADDR:
        inner = have // subs[0].extent
        needed = -(-extent // inner)
        if needed > 1:
            return [SubAxis(needed, Level.ADDR, subs[0].stride), *subs[1:]]
        subs, have = subs[1:], inner
    return subs


def packed(axes: list[list[SubAxis]]) -> list[list[SubAxis]]:
    """The same digits with address strides that leave no gaps, in the same order."""
    digits = sorted(
        (
            (sub.stride, number, place)
            for number, axis in enumerate(axes)
            for place, sub in enumerate(axis)
            if sub.level is Level.ADDR
        ),
        key=lambda digit: (digit[0], -digit[1], -digit[2]),
    )
    result = [list(axis) for axis in axes]
    stride = 1
    for _, number, place in digits:
        extent = axes[number][place].extent
        result[number][place] = SubAxis(extent, Level.ADDR, stride)
        stride *= extent
    return result
