"""The layout of an operand that is broadcast against a larger value, and where its long words stand in it.

The operand takes the digits of the axes it shares with the value.  Places that only the dropped digits distinguish hold
copies: their levels become `B@[...]`, and their addresses are closed up.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.layout.layout import Layout
from compiler.layout.levels import SPATIAL, Level
from compiler.layout.pad_layout import PadLayout
from compiler.layout.terms import Axis, Broadcast, SubAxis


def project(layout: PadLayout, shape: Sequence[int]) -> PadLayout:
    """The layout of an operand of `shape` whose elements lie with those of a value in `layout` (NumPy broadcasting).

    Axes are matched from the last; an axis of extent 1 against a larger one, or a missing one, is broadcast.
    """
    shape = tuple(shape)
    if shape == layout.shape:
        return layout
    kept = _kept_axes(layout, shape)
    strides = _closed_up(layout, kept)
    axes = []
    for number in range(len(shape)):
        source = number + len(layout.shape) - len(shape)
        subs = layout.layout.axes[source].subaxes if source in kept else ()
        axes.append(
            Axis(
                tuple(
                    SubAxis(s.extent, s.level, strides[s.stride]) if s.level is Level.ADDR and s.extent > 1 else s
                    for s in subs
                )
            )
        )
    dropped = [sub for n, axis in enumerate(layout.layout.axes) if n not in kept for sub in axis]
    used = {sub.level for axis in axes for sub in axis}
    copies = list(layout.layout.broadcast)
    for level in SPATIAL:
        copied = [entry for entry in copies if entry.level is level]
        if level not in used:
            copies = [entry for entry in copies if entry.level is not level] + [Broadcast(level)]
        elif not any(entry.extent is None for entry in copied):
            copies += [Broadcast(level, sub.extent, sub.stride) for sub in dropped if sub.level is level]
    return PadLayout(shape, Layout(tuple(axes), tuple(copies)))


def source_lws(layout: PadLayout, shape: Sequence[int]) -> tuple[int, ...]:
    """For each long word of a value in `layout`: the long word of the operand that `project` gives, which it meets."""
    if tuple(shape) == layout.shape:
        return tuple(range(layout.num_lw))
    kept = _kept_axes(layout, shape)
    strides = _closed_up(layout, kept)
    digits = [(s.stride, s.extent) for n, _, s in layout.layout.digits(Level.ADDR) if n in kept and s.extent > 1]
    return tuple(
        sum(lw // stride % extent * strides[stride] for stride, extent in digits) for lw in range(layout.num_lw)
    )


def _kept_axes(layout: PadLayout, shape: Sequence[int]) -> set[int]:
    """Axes of the value along which the operand has elements of its own."""
    missing = len(layout.shape) - len(shape)
    return {missing + n for n, extent in enumerate(shape) if extent == layout.shape[missing + n]}


def _closed_up(layout: PadLayout, kept: set[int]) -> dict[int, int]:
    """New stride of every address digit of the kept axes."""
    digits = sorted((s.stride, s.extent) for n, _, s in layout.layout.digits(Level.ADDR) if n in kept and s.extent > 1)
    strides, reach = {}, 1
    for stride, extent in digits:
        strides[stride] = reach
        reach *= extent
    return strides
