"""The canonical form of axes and broadcast lists: contiguous subaxes merged, all copied levels listed in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.layout.levels import SPATIAL, Level
from compiler.layout.terms import Axis, Broadcast, SubAxis


def merge_subaxes(subaxes: Iterable[SubAxis]) -> list[SubAxis]:
    """Join neighbours of one level where the outer stride continues the inner one: 2:4, 2:2 -> 4:2 (R9).

    Digits of extent 1 move nothing and are dropped.
    """
    merged: list[SubAxis] = []
    for sub in subaxes:
        if sub.extent == 1:
            continue
        outer = merged[-1] if merged else None
        if outer is not None and outer.level is sub.level and outer.stride == sub.extent * sub.stride:
            merged[-1] = SubAxis(outer.extent * sub.extent, sub.level, sub.stride)
        else:
            merged.append(SubAxis(sub.extent, sub.level, sub.stride))
    return merged


def unit_levels(axes: Iterable[Axis], broadcast: Iterable[Broadcast]) -> list[Level]:
    """Levels that are named by digits of extent 1 only (`1_W:1`): member 0 holds the data, the others nothing."""
    subaxes = [sub for axis in axes for sub in axis]
    others = {sub.level for sub in subaxes if sub.extent > 1} | {entry.level for entry in broadcast} | {Level.ADDR}
    return sorted({sub.level for sub in subaxes} - others)


def canonical_axes(axes: Sequence[Axis], broadcast: Sequence[Broadcast]) -> tuple[Axis, ...]:
    """Axes with contiguous subaxes merged and digits of extent 1 dropped, unless they are all that names a level.

    Those that remain stand first on the first axis: they take part in no index.
    """
    merged = [merge_subaxes(axis) for axis in axes]
    if merged:
        merged[0] = [SubAxis(1, level) for level in unit_levels(axes, broadcast)] + merged[0]
    return tuple(Axis(tuple(subaxes)) for subaxes in merged)


def canonical_broadcast(axes: Sequence[Axis], broadcast: Sequence[Broadcast]) -> tuple[Broadcast, ...]:
    """Broadcast entries in the order of l3ir.txt, levels that nobody names included (R5), Time left out."""
    used = {sub.level for axis in axes for sub in axis}
    result: list[Broadcast] = []
    for level in SPATIAL:
        entries = [entry for entry in broadcast if entry.level is level]
        if any(entry.extent in (None, level.members) for entry in entries) or (not entries and level not in used):
            result.append(Broadcast(level))
        else:
            entries.sort(key=lambda entry: -entry.stride)
            digits = merge_subaxes(SubAxis(entry.extent or 1, level, entry.stride) for entry in entries)
            result += [Broadcast(level, digit.extent, digit.stride) for digit in digits]
    return tuple(result)
