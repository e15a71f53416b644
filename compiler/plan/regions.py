"""Which nodes are cut into time slices together, and along which axes.

A *region* is a block of nodes that share one cut: slice 0 passes through all of them, then slice 1, and so on, so that
what they hand to each other never leaves local memory.  A region grows from the nodes that must be cut along the
edges of the graph, as long as the layers' `slice_axes` fit together and no other node has to run in the middle.
While it grows it carries every consistent choice of axes (*hypotheses*); the first that is left at the end is taken.
Source: compiler.md 7.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.graph import Location, MNGraph, MNNode
from compiler.layers.base import SliceAxis
from compiler.layers.registry import layer_of, layers

MOST_HYPOTHESES = 16


@dataclass(frozen=True)
class Option:
    """One way to cut a node, by value names: axes of what is cut, and the results that come out in parts."""

    number: int
    axes: Mapping[str, int]
    parts: frozenset[str]
    combine: str | None


@dataclass
class Hypothesis:
    """Axis of every cut value a region touches, and the option of every node (by its first output)."""

    axes: dict[str, int]
    options: dict[str, Option]

    def with_option(self, key: str, option: Option) -> Hypothesis | None:
        """The choice extended by a node, or None where they contradict each other."""
        for name, axis in option.axes.items():
            if self.axes.get(name, axis) != axis:
                return None
        return Hypothesis({**self.axes, **option.axes}, {**self.options, key: option})


@dataclass
class Region:
    """Positions of its nodes in execution order, and the choices left."""

    nodes: list[int] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)

    @property
    def choice(self) -> Hypothesis:
        """The choice taken."""
        return self.hypotheses[0]


def key_of(node: MNNode) -> str:
    """The name by which a node is known here: its first output."""
    return node.outputs[0]


def tensors_in(node: MNNode, graph: MNGraph) -> dict[int, str]:
    """Inputs that are tensors (not absent, not immediate), by position."""
    return {
        position: name
        for position, name in enumerate(node.inputs)
        if name and graph.values[name].loc is not Location.IMM
    }


def options_of(node: MNNode, graph: MNGraph, oversize: set[str], rejected: set[tuple[str, int]]) -> list[Option]:
    """The ways to cut a node that cut all of its oversize values and were not found useless before."""
    found: list[Option] = []
    if node.op_type == "Constant":
        return found
    for number, way in enumerate(layer_of(node).slice_axes(node, graph)):
        option = _named(number, way, node, graph)
        if option is None or (key_of(node), number) in rejected:
            continue
        touched = {*tensors_in(node, graph).values(), *node.outputs}
        if all(name in option.axes for name in touched & oversize):
            found.append(option)
    return found


def _named(number: int, way: SliceAxis, node: MNNode, graph: MNGraph) -> Option | None:
    axes: dict[str, int] = {}
    by_position = tensors_in(node, graph)
    for position, name in by_position.items():
        axis = way.inputs.get(position)
        if any(n == name and way.inputs.get(p) != axis for p, n in by_position.items()):
            return None
        if axis is not None:
            axes[name] = axis % len(graph.values[name].shape)
    parts = frozenset(name for k, name in enumerate(node.outputs) if k not in way.outputs)
    if parts and (way.combine is None or way.combine not in layers() or len(node.outputs) > 1):
        return None
    axes |= {node.outputs[k]: axis % len(graph.values[node.outputs[k]].shape) for k, axis in way.outputs.items()}
    extents = [graph.values[name].shape[axis] for name, axis in axes.items()]
    return Option(number, axes, parts, way.combine) if extents and min(extents) > 1 else None


class RegionFinder:
    """Grows regions over one graph.  `must`: nodes (by key) that are cut in any case; `oversize`: values that no local
    memory can hold whole; `rejected`: (node, number of its option) that proved useless.
    """

    def __init__(
        self, graph: MNGraph, must: set[str], oversize: set[str], rejected: set[tuple[str, int]]
    ) -> None:
        self._graph = graph
        self._must, self._oversize, self._rejected = must, oversize, rejected
        self._region_of: dict[int, Region] = {}
        self._made_by = graph.producers()
        self._uses = graph.uses()

    def find(self) -> tuple[list[Region], list[str]]:
        """The regions in the order of their first nodes, and the nodes that must be cut but cannot be."""
        stuck: list[str] = []
        for position, node in enumerate(self._graph.nodes):
            options = options_of(node, self._graph, self._oversize, self._rejected)
            forced = key_of(node) in self._must
            if not self._join(position, options, forced) and forced:
                if options:
                    self._start(position, options)
                else:
                    stuck.append(key_of(node))
        regions = list({id(region): region for _, region in sorted(self._region_of.items())}.values())
        for region in regions:
            while self._pull(region):
                pass
        self._agree(regions)
        return regions, stuck

    def _start(self, position: int, options: Sequence[Option]) -> None:
        key = key_of(self._graph.nodes[position])
        ways = [Hypothesis(dict(option.axes), {key: option}) for option in options]
        self._region_of[position] = Region([position], ways)

    def _join(self, position: int, options: Sequence[Option], forced: bool) -> bool:
        node = self._graph.nodes[position]
        sources = [self._made_by[name] for name in node.used if name in self._made_by]
        near = list({id(r): r for s in sources if (r := self._region_of.get(s)) is not None}.values())
        if not forced:
            options = [option for option in options if not option.parts]
        while len(near) > 1 and self._merge(near[0], near[1]):
            del near[1]
        return any(self._enter(region, position, options) for region in near)

    def _enter(self, region: Region, position: int, options: Sequence[Option]) -> bool:
        node = self._graph.nodes[position]
        if not self._convex([region], node):
            return False
        made = {name for member in region.nodes for name in self._graph.nodes[member].outputs}
        inside = made & set(node.used)
        found: list[Hypothesis] = []
        for way in region.hypotheses:
            parts = {name for option in way.options.values() for name in option.parts}
            for option in options:
                if inside <= set(option.axes) and not inside & parts:
                    extended = way.with_option(key_of(node), option)
                    found += [extended] if extended is not None else []
        if not found:
            return False
        region.hypotheses = found[:MOST_HYPOTHESES]
        region.nodes.append(position)
        self._region_of[position] = region
        return True

    def _pull(self, region: Region) -> bool:
        """Extend a region by a node that makes what it reads in slices and that it alone reads (or moves nothing)."""
        inside = {name for member in region.nodes for name in self._graph.nodes[member].outputs}
        for name in region.choice.axes:
            position = self._made_by.get(name)
            if name in inside or position is None or position in self._region_of:
                continue
            node = self._graph.nodes[position]
            strangers = set(self._uses[name]) - set(region.nodes)
            if (strangers or name in self._graph.outputs) and not layer_of(node).alias:
                continue
            options = [o for o in options_of(node, self._graph, self._oversize, self._rejected) if not o.parts]
            ways = [
                extended
                for way in region.hypotheses
                for option in options
                if name in option.axes and (extended := way.with_option(key_of(node), option)) is not None
            ]
            larger = Region([position, *region.nodes], ways[:MOST_HYPOTHESES])
            if ways and all(self._convex([larger], self._graph.nodes[member]) for member in larger.nodes):
                region.nodes, region.hypotheses = larger.nodes, larger.hypotheses
                self._region_of[position] = region
                return True
        return False

    def _merge(self, a: Region, b: Region) -> bool:
        """Make one region of two, if their choices agree and nothing has to run between them."""
        both = [
            Hypothesis({**p.axes, **q.axes}, {**p.options, **q.options})
            for p in a.hypotheses
            for q in b.hypotheses
            if all(q.axes.get(name, axis) == axis for name, axis in p.axes.items())
        ]
        ends = [self._graph.nodes[position] for region in (a, b) for position in region.nodes]
        if not both or not all(self._convex([a, b], node) for node in ends):
            return False
        a.nodes = sorted([*a.nodes, *b.nodes])
        a.hypotheses = both[:MOST_HYPOTHESES]
        for position in b.nodes:
            self._region_of[position] = a
        return True

    def _convex(self, block: Sequence[Region], node: MNNode) -> bool:
        """Whether what the node reads from outside of the block can be made before the block begins."""
        inside = {position for region in block for position in region.nodes}
        todo = [p for name in node.used if (p := self._made_by.get(name)) is not None and p not in inside]
        seen: set[int] = set()
        while todo:
            position = todo.pop()
            if position in inside:
                return False
            if position in seen:
                continue
            region = self._region_of.get(position)
            members = region.nodes if region is not None else [position]
            seen.update(members)
            for member in members:
                todo += [self._made_by[name] for name in self._graph.nodes[member].used if name in self._made_by]
            todo = [p for p in todo if p not in seen]
        return True

    @staticmethod
    def _agree(regions: Sequence[Region]) -> None:
        """Let every region prefer the axes along which values were cut by the ones before."""
        cut: dict[str, int] = {}
        for region in regions:
            region.hypotheses.sort(key=lambda way: sum(cut.get(n, axis) != axis for n, axis in way.axes.items()))
            for name, axis in region.choice.axes.items():
                cut.setdefault(name, axis)
