"""MNCoreLayoutSwitch: the same tensor in another layout, inside local memory.

Three routes are known, found by comparing where every element lies before and after: `local` (words and addresses
of one PE), `gather` (split over the MABs -> alike in all MABs) and `scatter` (the reverse).  Other pairs are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.switch import LocalMove, emit_gather, emit_local, emit_scatter
from compiler.errors import LayoutConflict
from compiler.graph import MNGraph, MNNode
from compiler.layers.base import Assignment, EmitContext, Layer, Raw
from compiler.layout import Layout, Level, PadLayout


@dataclass(frozen=True)
class SwitchPlan:
    """A route and its moves: `local` {(lw, lane): (lw, lane)}; `gather` {(mab, source lw): lw}; `scatter` {(mab,
    lw): source lw}.
    """

    route: str
    local: dict[tuple[int, int], tuple[int, int]]
    over_mabs: dict[tuple[int, int], int]


def plan_switch(source: PadLayout, target: PadLayout, lanes: int) -> SwitchPlan:
    """The route from one layout to the other; `lanes` elements to a long word.  Raises LayoutConflict."""
    a = [np.broadcast_to(f, source.shape).ravel() for f in source.index_arrays(padding=False)]
    b = [np.broadcast_to(f, target.shape).ravel() for f in target.index_arrays(padding=False)]
    names = ("L2B", "L1B", "MAB", "PE")
    differ = [
        name
        for k, name in enumerate(names)
        if source.is_broadcast(Level(name)) != target.is_broadcast(Level(name)) or not np.array_equal(a[k], b[k])
    ]
    if not differ:
        lane_moves: dict[tuple[int, int], tuple[int, int]] = {}
        copies = range(lanes) if target.is_broadcast(Level.W) else (0,)
        quads = np.unique(np.stack([b[4], b[5], a[4], a[5]]), axis=1).T.tolist()
        for d_lw, d_lane, s_lw, s_lane in quads:
            for copy in copies:
                if lane_moves.setdefault((d_lw, d_lane + copy), (s_lw, s_lane)) != (s_lw, s_lane):
                    raise _refused(source, target, "PEs would need different moves")
        return SwitchPlan("local", lane_moves, {})
    same_lane = np.array_equal(a[5], b[5]) and source.is_broadcast(Level.W) == target.is_broadcast(Level.W)
    if differ == ["MAB"] and same_lane:
        gather = target.is_broadcast(Level.MAB)
        if gather == source.is_broadcast(Level.MAB):
            raise _refused(source, target, "a permutation of the MABs has no route")
        mab, own, other = (a[2], a[4], b[4]) if gather else (b[2], b[4], a[4])
        moves: dict[tuple[int, int], int] = {}
        for m, lw, there in np.unique(np.stack([mab, own, other]), axis=1).T.tolist():
            if moves.setdefault((m, lw), there) != there:
                raise _refused(source, target, "PEs would need different moves")
        return SwitchPlan("gather" if gather else "scatter", {}, moves)
    raise _refused(source, target, f"elements would move between members of {', '.join(differ) or 'W'}")


def _refused(source: PadLayout, target: PadLayout, why: str) -> LayoutConflict:
    return LayoutConflict(
        f"no layout switch from {source} to {target}: {why}; known are moves inside a PE and between "
        "MAB-split and MAB-broadcast forms of the same long words"
    )


class LayoutSwitch(Layer):
    """Attribute `layout`: the target PadLayout as text."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreLayoutSwitch",)

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.outputs[0])

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        source, target = graph.values[node.inputs[0]].layout, graph.values[node.outputs[0]].layout
        assert source is not None and target is not None
        plan_switch(source, target, graph.values[node.inputs[0]].dtype.words_per_lw)
        return Assignment((source,), (target,))

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        value, out = ctx.graph.values[node.inputs[0]], ctx.graph.values[node.outputs[0]]
        assert value.layout is not None and out.layout is not None
        lanes = value.dtype.words_per_lw
        plan = plan_switch(value.layout, out.layout, lanes)
        source, target = ctx.stream(node.inputs[0]), ctx.stream(node.outputs[0])
        src, dst = (source.lm, source.addr), (target.lm, target.addr)
        if plan.route == "local":
            emit_local(asm, LocalMove(lanes, plan.local), src, dst)
        elif plan.route == "gather":
            emit_gather(asm, plan.over_mabs, src, dst)
        else:
            emit_scatter(asm, plan.over_mabs, src, dst)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        return [inputs[0]]


LAYERS: tuple[Layer, ...] = (LayoutSwitch(),)
