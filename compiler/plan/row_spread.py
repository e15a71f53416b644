"""Rows spread over the MABs where element-wise work would otherwise be done sixteen times.

A product leaves its result alike in all MABs when the MABs had no part in it.  For what follows - a softmax, a loss,
their gradients - the cost counts by long words of a PE, so it pays to give each MAB a sixteenth of the rows first: that
is a choice by the number of the MAB, no transfer.  This planner looks at a first plan, joins the nodes that keep the
rows apart into regions, and names for those that gain the layouts in which their operands must come: `Spreading`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from compiler.graph import MNGraph, MNNode, MNValue
from compiler.layers.cast import Cast
from compiler.layers.elementwise import TapeLayer
from compiler.layers.reduce import Reduce, reduced_axes
from compiler.layers.registry import layer_of
from compiler.layers.shape import Reshape
from compiler.layout import Axis, Layout, Level, PadLayout, SubAxis
from compiler.layout.project import project
from compiler.plan.layout_spec import LayoutSpecs
from compiler.plan.wishes import Wishes
from compiler.switch.chains import chain_cycles

MABS = 16
CYCLES_PER_STEP = 4
#: Steps for four long words: of a conversion, and of a reduction inside a MAB.
CONVERSION, REDUCTION = 1, 6
#: Cycles a region must gain beyond its switches, for what the estimate leaves out.
WORTH_IT = 400


@dataclass
class Spreading:
    """operands: (output of a node, operand position) -> layout that the operand must have.  wishes: of the results."""

    operands: dict[tuple[str, int], PadLayout] = field(default_factory=dict)
    wishes: Wishes = field(default_factory=dict)


def over_mabs(layout: PadLayout) -> PadLayout | None:
    """The layout with a sixteenth of the first axis in each MAB; None where the MABs hold no copies, or the addresses
    of that axis cannot be shared out evenly.
    """
    spec = layout.layout
    if not spec.axes or not spec.is_broadcast(Level.MAB) or layout.num_slices > 1:
        return None
    digits: list[list[SubAxis]] = [[], *([sub for sub in axis if sub.extent > 1] for axis in spec.axes[1:])]
    need, rows = MABS, math.prod(sub.extent for sub in spec.axes[0] if sub.level is Level.ADDR)
    for sub in spec.axes[0]:
        share = math.gcd(sub.extent, need) if sub.level is Level.ADDR else 1
        if share > 1:
            need //= share
            digits[0].append(SubAxis(share, Level.MAB, need))
        rest = sub.extent // share
        if rest > 1 and sub.level is not Level.ADDR:
            digits[0].append(sub)
        elif rest > 1:
            digits[0].append(SubAxis(rest, Level.ADDR, sub.stride))
    if need > 1 or layout.padded_shape[0] != layout.shape[0] or rows % MABS:
        return None
    strides = _closed_up([sub for axis in digits for sub in axis if sub.level is Level.ADDR])
    axes = [
        Axis(tuple(SubAxis(s.extent, s.level, strides[s.stride]) if s.level is Level.ADDR else s for s in axis))
        for axis in digits
    ]
    copies = [entry for entry in spec.broadcast if entry.level is not Level.MAB]
    return PadLayout(layout.shape, Layout(tuple(axes), tuple(copies)).canonical())


def _closed_up(digits: Iterable[SubAxis]) -> dict[int, int]:
    """New stride of every address digit, in the order of the old ones."""
    strides, reach = {}, 1
    for sub in sorted((sub for sub in digits if sub.extent > 1), key=lambda sub: sub.stride):
        strides[sub.stride] = reach
        reach *= sub.extent
    return strides


def spread_rows(graph: MNGraph, planned: MNGraph, specs: LayoutSpecs) -> Spreading:
    """What to ask for when `graph`, whose layouts were planned once (`planned`), is planned anew.  Nodes whose layouts
    the user fixed (`specs`) stay as they are.
    """
    found = Spreading()
    for nodes in _regions(graph, planned, specs):
        region = _Region(graph, planned, nodes)
        if region.leader is not None and region.gain() > WORTH_IT:
            region.ask(found)
    return found


def _rows(node: MNNode, graph: MNGraph) -> int:
    """Rows along the first axis that a node keeps apart; 0 for any other node."""
    if node.op_type == "Constant":
        return 0
    layer, out = layer_of(node), graph.values[node.outputs[0]]
    source = graph.values[node.inputs[0]] if node.inputs and node.inputs[0] else None
    if not out.shape or out.shape[0] < MABS:
        return 0
    if isinstance(layer, TapeLayer):
        lower = (name for name in node.used if len(graph.values[name].shape) < len(out.shape))
        return 0 if any(out.shape[0] in graph.values[name].shape for name in lower) else out.shape[0]
    if source is None or source.shape[:1] != out.shape[:1]:
        return 0
    if isinstance(layer, Cast | Reshape):
        return out.shape[0]
    if isinstance(layer, Reduce) and 0 not in reduced_axes(node, len(source.shape)):
        return out.shape[0]
    return 0


def _fixed(node: MNNode, graph: MNGraph, specs: LayoutSpecs) -> bool:
    """Whether the user says in which layout the node reads or gives a value."""
    inputs = any(specs.input_layout(node, graph.values[name].shape) for name in node.used)
    return inputs or specs.output_layout(node, graph, 0) is not None


def _regions(graph: MNGraph, planned: MNGraph, specs: LayoutSpecs) -> Iterator[list[MNNode]]:
    """Nodes that keep the same rows apart, joined where one reads what another makes or both read one value."""
    nodes = {}
    for node in graph.nodes:
        layout = planned.values[node.outputs[0]].layout if node.outputs else None
        if layout is None or not layout.is_broadcast(Level.MAB) or _fixed(node, graph, specs):
            continue
        if _rows(node, graph):
            nodes[node.outputs[0]] = node
    joined = {name: name for name in nodes}

    def root(name: str) -> str:
        while joined[name] != name:
            name = joined[name]
        return name

    for name, node in nodes.items():
        for read in node.used:
            if read in nodes and graph.values[read].shape[0] == graph.values[name].shape[0]:
                joined[root(read)] = root(name)
    grouped: dict[str, list[MNNode]] = {}
    for name, node in nodes.items():
        grouped.setdefault(root(name), []).append(node)
    yield from grouped.values()


class _Region:
    """Some nodes, and the layouts their values would have.  leader: the spread layout of the largest value."""

    def __init__(self, graph: MNGraph, planned: MNGraph, nodes: list[MNNode]) -> None:
        self._graph, self._planned, self._nodes = graph, planned, nodes
        self._made = {node.outputs[0] for node in nodes}
        self._rows = graph.values[nodes[0].outputs[0]].shape[0]
        spread = {name: over_mabs(self._layout(name)) for name in sorted(self._made)}
        fitting = [name for name, layout in spread.items() if layout is not None]
        self.leader = spread[max(fitting, key=lambda name: self._layout(name).num_lw)] if fitting else None

    def _layout(self, name: str) -> PadLayout:
        layout = self._planned.values[name].layout
        assert layout is not None
        return layout

    def _target(self, value: MNValue) -> PadLayout | None:
        """The layout a value with rows should have."""
        assert self.leader is not None
        layout = self._planned.values[value.name].layout
        own = over_mabs(layout) if layout is not None else None
        if own is not None:
            return own
        rank = len(self.leader.shape)
        if len(value.shape) == 1:
            column = project(self.leader, (self._rows, *[1] * (rank - 1))).layout
            return PadLayout(value.shape, Layout(column.axes[:1], column.broadcast))
        alike = len(value.shape) == rank
        fits = alike and all(mine in (1, theirs) for mine, theirs in zip(value.shape, self.leader.shape, strict=True))
        return project(self.leader, value.shape) if fits else None

    def _has_rows(self, name: str, node: MNNode) -> bool:
        shape, out = self._graph.values[name].shape, self._graph.values[node.outputs[0]].shape
        own_rank = not isinstance(layer_of(node), TapeLayer) or len(shape) == len(out)
        return bool(shape) and shape[0] == self._rows and own_rank

    def _entries(self) -> Iterator[tuple[MNNode, int, str]]:
        for node in self._nodes:
            for position, name in enumerate(node.inputs):
                if name and name not in self._made and self._has_rows(name, node):
                    yield node, position, name

    def gain(self) -> float:
        """Estimated cycles that the region would need less, its switches deducted."""
        gain = 0.0
        for node in self._nodes:
            steps = self._steps(node)
            value = self._graph.values[node.inputs[0] if isinstance(layer_of(node), Reduce) else node.outputs[0]]
            target, now = self._target(value), self._planned.values[value.name].layout
            if target is None or now is None:
                return 0.0
            gain += CYCLES_PER_STEP * steps * (-(-now.num_lw // 4) - -(-target.num_lw // 4))
        free = {n for n in (*self._graph.inputs, *self._graph.params) if self._graph.values[n].layout is None}
        arriving = {name for _, _, name in self._entries()} - free
        leaving = {
            name
            for node in self._graph.nodes
            if node.outputs[0] not in self._made and node.used and not isinstance(layer_of(node), Reduce)
            for name in node.used
            if name in self._made
        }
        for name in (*arriving, *leaving):
            value = self._planned.values[name]
            target, now = self._target(value), value.layout
            if target is None or now is None:
                return 0.0
            ends = (now, target) if name in arriving else (target, now)
            gain -= chain_cycles(*ends, value.dtype)
        return gain

    def _steps(self, node: MNNode) -> int:
        layer = layer_of(node)
        if isinstance(layer, TapeLayer):
            return sum(len(each.tape.steps) for each in layer.passes(node, self._planned))
        if isinstance(layer, Reduce):
            return REDUCTION
        return CONVERSION if isinstance(layer, Cast) else 0

    def ask(self, found: Spreading) -> None:
        """Name the layouts of the operands that come from elsewhere, and wishes for the values inside."""
        for node, position, name in self._entries():
            target = self._target(self._planned.values[name])
            if target is not None:
                found.operands[node.outputs[0], position] = target
        for name in self._made:
            target = self._target(self._planned.values[name])
            if target is not None:
                found.wishes[name] = target.layout
