"""Switches that need no table: inside the PE with the same moves in every PE, and over the MABs of an L1B.

`local`: words and addresses of one PE; `gather`: split over the MABs -> alike in all MABs; `scatter`: the reverse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.layout import Level, PadLayout


@dataclass(frozen=True)
class DirectPlan:
    """A route and its moves: `local` {(lw, lane): (lw, lane)}; `gather` {(mab, source lw): lw}; `scatter` {(mab,
    lw): source lw}.
    """

    route: str
    local: dict[tuple[int, int], tuple[int, int]]
    over_mabs: dict[tuple[int, int], int]


def plan_direct(source: PadLayout, target: PadLayout, lanes: int) -> DirectPlan | None:
    """The route from one layout to the other, None where there is none; `lanes` elements to a long word."""
    a = [np.broadcast_to(f, source.shape).ravel() for f in source.index_arrays(padding=False)]
    b = [np.broadcast_to(f, target.shape).ravel() for f in target.index_arrays(padding=False)]
    names = ("L2B", "L1B", "MAB", "PE")
    differ = [
        name
        for k, name in enumerate(names)
        if _copies(source, name) != _copies(target, name) or not np.array_equal(a[k], b[k])
    ]
    if not differ:
        lane_moves: dict[tuple[int, int], tuple[int, int]] = {}
        if any(entry.level is Level.W and entry.extent is not None for entry in target.layout.broadcast):
            return None
        copies = range(lanes) if target.is_broadcast(Level.W) else (0,)
        quads = np.unique(np.stack([b[4], b[5], a[4], a[5]]), axis=1).T.tolist()
        for d_lw, d_lane, s_lw, s_lane in quads:
            for copy in copies:
                if lane_moves.setdefault((d_lw, d_lane + copy), (s_lw, s_lane)) != (s_lw, s_lane):
                    return None
        return DirectPlan("local", lane_moves, {})
    same_lane = np.array_equal(a[5], b[5]) and _copies(source, "W") == _copies(target, "W")
    whole = all(entry.level is not Level.MAB or entry.extent is None
                for layout in (source, target) for entry in layout.layout.broadcast)
    gather = target.is_broadcast(Level.MAB)
    if differ == ["MAB"] and same_lane and whole and gather != source.is_broadcast(Level.MAB):
        mab, own, other = (a[2], a[4], b[4]) if gather else (b[2], b[4], a[4])
        moves: dict[tuple[int, int], int] = {}
        for m, lw, there in np.unique(np.stack([mab, own, other]), axis=1).T.tolist():
            if moves.setdefault((m, lw), there) != there:
                return None
        return DirectPlan("gather" if gather else "scatter", {}, moves)
    return None


def _copies(layout: PadLayout, level: str) -> tuple[bool, frozenset[tuple[int | None, int]]]:
    """Which members of a level hold copies."""
    if layout.is_broadcast(Level(level)):
        return True, frozenset()
    return False, frozenset((e.extent, e.stride) for e in layout.layout.broadcast if e.level is Level(level))
