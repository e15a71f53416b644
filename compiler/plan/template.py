"""The graph before the fork: each region's nodes once, on values of the extent of one slice.

A value that a region reads in slices comes through a MNCoreInputSplit, one that others need whole leaves through a
MNCoreOutputConcat; partial results are gathered by the operator that the layer names (`SliceAxis.combine`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence

from compiler.errors import DoesNotFit
from compiler.graph import MNGraph, MNNode, MNValue
from compiler.plan.fork import Piece, Template
from compiler.plan.regions import Region, key_of


class Group:
    """Regions with slices of common values, hence with one number of slices.

    axes: cut axis of every value.  units: the extent all cut axes are multiples of.  step: units of one slice.
    """

    def __init__(self, graph: MNGraph, regions: Sequence[Region]) -> None:
        self.regions = list(regions)
        self.axes: dict[str, int] = {}
        for region in regions:
            self.axes = {**region.choice.axes, **self.axes}
        self.keys = {key for region in regions for key in region.choice.options}
        extents = [
            graph.values[name].shape[axis] for region in regions for name, axis in region.choice.axes.items()
        ]
        self.units = math.gcd(*extents)
        self.step = self.units

    @property
    def slices(self) -> int:
        """Number of slices."""
        return -(-self.units // self.step)


def stored_pieces(template: Template, group: int) -> list[str]:
    """The template values of a group whose slices lie in DRAM one after the other."""
    names = list(template.free)
    for node in template.graph.nodes:
        if node.op_type == "MNCoreInputSplit":
            names.append(node.outputs[0])
        elif node.op_type == "MNCoreOutputConcat":
            names.append(node.inputs[0])
    return [name for name in names if template.pieces[name].group == group]


def build_template(graph: MNGraph, groups: Sequence[Group], oversize: Mapping[str, int]) -> Template:
    """The template of a graph without layouts.  Raises DoesNotFit for an oversize value that is cut along two axes."""
    return _Builder(graph, groups, oversize).run()


class _Builder:
    def __init__(self, graph: MNGraph, groups: Sequence[Group], oversize: Mapping[str, int]) -> None:
        self._source = graph
        self._oversize = oversize
        self._made_by = graph.producers()
        self._groups = groups
        self._group_of = {id(region): number for number, group in enumerate(groups) for region in group.regions}
        regions = [region for group in groups for region in group.regions]
        self._region_of = {position: region for region in regions for position in region.nodes}
        result = graph.copy()
        self._copies, result.nodes = result.nodes, []
        self._result = Template(result)
        self._front: list[MNNode] = []
        self._pieces: dict[tuple[str, int], str] = {}
        self._whole = self._needed_whole()

    def run(self) -> Template:
        for number, members in enumerate(self._order()):
            region = self._region_of.get(members[0])
            if region is None:
                self._result.graph.nodes.append(self._copies[members[0]])
            else:
                self._add_block(number, region)
        graph = self._result.graph
        graph.nodes[:0] = self._front
        defined = {*graph.inputs, *graph.params, *(name for node in graph.nodes for name in node.outputs)}
        graph.values = {name: value for name, value in graph.values.items() if name in defined}
        return self._result

    def _order(self) -> list[list[int]]:
        """Single nodes and whole regions in an order in which all is made before it is read."""
        members: dict[int, list[int]] = {}
        leader: dict[int, int] = {}
        for position in range(len(self._source.nodes)):
            region = self._region_of.get(position)
            block = sorted(region.nodes) if region is not None else [position]
            leader[position] = block[0]
            members.setdefault(block[0], block)
        before = {
            first: {
                leader[self._made_by[name]]
                for position in block
                for name in self._source.nodes[position].used
                if name in self._made_by
            }
            - {first}
            for first, block in members.items()
        }
        after: dict[int, list[int]] = {first: [] for first in members}
        missing = {first: len(sources) for first, sources in before.items()}
        for first, sources in before.items():
            for source in sources:
                after[source].append(first)
        ready = [first for first, count in missing.items() if count == 0]
        heapq.heapify(ready)
        order: list[list[int]] = []
        while ready:
            first = heapq.heappop(ready)
            order.append(members[first])
            for later in after[first]:
                missing[later] -= 1
                if missing[later] == 0:
                    heapq.heappush(ready, later)
        return order

    def _needed_whole(self) -> set[str]:
        """Values that somebody reads otherwise than in the one way in which they are cut."""
        cuts: dict[str, set[int | None]] = {name: {None} for name in self._source.outputs}
        for position, node in enumerate(self._source.nodes):
            region = self._region_of.get(position)
            option = region.choice.options[key_of(node)] if region is not None else None
            for name in (*node.used, *node.outputs):
                cuts.setdefault(name, set()).add(option.axes.get(name) if option is not None else None)
        return {name for name, ways in cuts.items() if len(ways) > 1}

    # -- one region ----------------------------------------------------------------------------------------------

    def _add_block(self, number: int, region: Region) -> None:
        template, group = self._result, self._group_of[id(region)]
        nodes: list[MNNode] = []
        stored: list[MNNode] = []
        for position in sorted(region.nodes):
            node = self._copies[position]
            option = region.choice.options[key_of(node)]
            origin = key_of(node)
            for k, name in enumerate(node.inputs):
                if name in option.axes:
                    node.inputs[k] = self._piece(name, option.axes[name], group)
            results = list(node.outputs)
            for k, name in enumerate(results):
                axis = option.axes.get(name)
                node.outputs[k] = self._new_piece(name, axis, group, "Slice" if axis is not None else "Part")
                template.origin[node.outputs[k]] = origin
                if axis is not None and name in self._whole:
                    attrs = {"axis": axis}
                    stored.append(MNNode("MNCoreOutputConcat", f"{name}_concat", [node.outputs[k]], [name], attrs))
            template.block_of[node.outputs[0]] = number
            nodes.append(node)
            if option.parts:
                part = node.outputs[0]
                assert option.combine is not None
                nodes.append(MNNode(option.combine, f"{origin}_combine", [part, part], results))
                template.combines.add(results[0])
                template.block_of[results[0]] = number
                template.origin[results[0]] = origin
        template.graph.nodes += [*nodes, *stored]

    def _piece(self, name: str, axis: int, group: int) -> str:
        """The template value for the slices of `name` along `axis`."""
        if (name, axis) not in self._pieces:
            for other, held in self._pieces:
                if other == name and held != axis and name in self._oversize:
                    raise DoesNotFit(
                        f"value {name!r} {self._source.values[name].shape} is needed in time slices along axes {held} "
                        f"and {axis}, and is too large to be turned in local memory"
                    )
            piece = self._new_piece(name, axis, group, "Split")
            graph = self._result.graph
            free = self._source.values[name].layout is None
            if free and name not in self._made_by and name not in self._whole:
                (graph.inputs if name in graph.inputs else graph.params).append(piece)
                self._result.free[piece] = name
            else:
                split = MNNode("MNCoreInputSplit", f"{piece}_split", [name], [piece], {"axis": axis})
                (graph.nodes if name in self._made_by else self._front).append(split)
        return self._pieces[name, axis]

    def _new_piece(self, name: str, axis: int | None, group: int, step: str) -> str:
        value = self._source.values[name]
        shape = value.shape
        extent = shape[axis] if axis is not None else 0
        if axis is not None:
            cut = self._groups[group]
            shape = (*shape[:axis], extent // cut.units * cut.step, *shape[axis + 1 :])
        piece = f"{name}_{step}" if axis is None or (name, axis) not in self._pieces else f"{name}_{step}_{axis}"
        while piece in self._result.graph.values:
            piece += "_"
        made = MNValue(piece, value.onnx_dtype, shape, value.dtype, gene=value.gene)
        self._result.graph.add_value(made)
        self._result.pieces[piece] = Piece(axis, extent, self._groups[group].slices, group)
        self._result.source[piece] = name
        if axis is not None:
            self._pieces[name, axis] = piece
        return piece
