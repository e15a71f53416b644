"""The fork: a planned template, in which every sliced value stands for all of its slices, becomes the graph that runs.

The template holds each region's nodes once, on values of the extent of one slice.  Here they are repeated for every
slice.  All slices are alike; where the extent does not divide, the last one ends in rows that nobody reads: layers keep
rows apart along a cut axis, and before partial results are formed such rows are overwritten.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNValue, PadType
from compiler.layers.registry import layer_of
from compiler.layout.time import with_time
from compiler.plan.layouts import with_layout


@dataclass(frozen=True)
class Piece:
    """A value of the template that stands for slices.

    axis: cut axis, None for a partial result (full shape in every slice).  extent: of the whole value along it.
    slices: how many.  group: number of the group of regions that has them.
    """

    axis: int | None
    extent: int
    slices: int
    group: int


@dataclass
class Template:
    """A graph before the fork.

    pieces: sliced values.  block_of: region number of every node that is repeated, by its first output.  combines:
    results (whole) that are gathered from partial results.  origin: original node (its first output) by what the
    template's node makes.  free: inputs and parameters that are read in these slices only, by the template's input for
    one slice.  source: the original value of every piece.
    """

    graph: MNGraph
    pieces: dict[str, Piece] = field(default_factory=dict)
    block_of: dict[str, int] = field(default_factory=dict)
    combines: set[str] = field(default_factory=set)
    origin: dict[str, str] = field(default_factory=dict)
    free: dict[str, str] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)


def fork(template: Template, planned: MNGraph) -> tuple[MNGraph, dict[str, str]]:
    """The graph with all slices, and for every value that a repeated node makes the original node (its first output).

    `planned` is the template's graph with layouts and the planners' own nodes.
    """
    return _Fork(template, planned).run()


class _Fork:
    def __init__(self, template: Template, planned: MNGraph) -> None:
        self._template = template
        self._planned = planned
        self._pieces = dict(template.pieces)
        self._graph = planned.copy()
        self._graph.nodes = []
        self._graph.values = {n: v for n, v in self._graph.values.items() if n not in self._pieces}
        self._names: dict[tuple[str, int], str] = {}
        self._origin: dict[str, str] = {}
        self._block: list[MNNode] = []
        self._number: int | None = None

    def run(self) -> tuple[MNGraph, dict[str, str]]:
        for free, whole in self._template.free.items():
            self._split_free(free, whole)
        for image, free in self._planned.images.items():
            if free in self._template.free:
                self._split_image(image, free)
        for name in (*self._graph.inputs, *self._graph.params):
            value = self._graph.values[name]
            if value.layout is not None and value.layout.num_slices > 1 and value.layout.is_padded:
                value.pad_type = value.pad_type or PadType.ZERO
        helpers: list[MNNode] = []
        for node in self._planned.nodes:
            number = self._template.block_of.get(node.outputs[0])
            if number is not None:
                if number != self._number:
                    self._close()
                self._number = number
                self._block += [*helpers, node]
                helpers = []
            elif node.op_type in ("MNCoreInputSplit", "MNCoreOutputConcat"):
                self._close()
                self._at_border(node)
            elif any(name in self._pieces for name in node.used):
                piece = next(self._pieces[name] for name in node.used if name in self._pieces)
                self._pieces |= dict.fromkeys(node.outputs, piece)
                for name in node.outputs:
                    self._graph.values.pop(name, None)
                helpers.append(node)
            else:
                if any(name in self._template.combines for name in node.used) or node.name == node.outputs[0]:
                    self._close_if_made(node)
                else:
                    self._close()
                self._graph.nodes.append(node)
        self._close()
        return self._graph, self._origin

    def _close_if_made(self, node: MNNode) -> None:
        """Helpers of whole values go before the block that is being gathered, unless it makes what they read."""
        made = {name for member in self._block for name in member.outputs}
        if made & set(node.used):
            self._close()

    # -- one block -----------------------------------------------------------------------------------------------

    def _close(self) -> None:
        """Write the block gathered so far, slice after slice."""
        block, self._block, self._number = self._block, [], None
        if not block:
            return
        touched = (name for node in block for name in (*node.used, *node.outputs))
        slices = next(self._pieces[name].slices for name in touched if name in self._pieces)
        sums: dict[str, str] = {}
        for k in range(slices):
            for node in block:
                if node.outputs[0] in self._template.combines:
                    self._combine(node, k, slices, sums)
                else:
                    self._repeat(node, k)

    def _repeat(self, node: MNNode, k: int) -> None:
        inputs = [self._name(name, k) if name else "" for name in node.inputs]
        outputs = [self._slice(name, k).name for name in node.outputs]
        made = self._pieces[node.outputs[0]]
        if made.axis is None and k == made.slices - 1 and node.outputs[0] in self._template.block_of:
            self._clear_rest(node, inputs)
        self._graph.nodes.append(MNNode(node.op_type, f"{node.name}_{k}", inputs, outputs, dict(node.attrs)))
        for name, output in zip(node.outputs, outputs, strict=True):
            self._origin[output] = self._template.origin.get(name, name)

    def _clear_rest(self, node: MNNode, inputs: list[str]) -> None:
        """Overwrite the rows of the last slice that the whole value lacks, before they enter partial results."""
        layer = layer_of(node)
        for position, name in enumerate(node.inputs):
            piece = self._pieces.get(name)
            if piece is None or piece.axis is None:
                continue
            axis, value = piece.axis, self._graph.values[inputs[position]]
            rest = piece.extent - (piece.slices - 1) * value.shape[axis]
            if rest == value.shape[axis]:
                continue
            need = layer.padding(node, self._planned).get(position)
            if need is None or axis not in need.axes or position in layer.streamed:
                raise UnsupportedOperator(
                    f"{node.op_type} {node.outputs[0]!r} names no padding that leaves its result along axis {axis} as "
                    f"it is, so that a last time slice of {rest} cannot be filled up to {value.shape[axis]}"
                )
            filled = _renamed(value, self._graph.fresh_name(value.name, "RefillPadding"))
            attrs = {"kind": need.kind, "axes": [axis], "extent": rest}
            self._graph.add_value(filled)
            self._graph.nodes.append(MNNode("MNCoreRefillPadding", filled.name, [value.name], [filled.name], attrs))
            inputs[position] = filled.name

    def _combine(self, node: MNNode, k: int, slices: int, sums: dict[str, str]) -> None:
        """Gather the partial results: the first one as it is, then one operation for each slice."""
        result = node.outputs[0]
        if k == 0:
            sums[result] = self._name(node.inputs[0], 0)
            return
        name = result
        if k < slices - 1:
            name = f"{result}_Part_Sum_{k}"
            self._graph.add_value(_renamed(self._planned.values[result], name))
        needed = self._planned.values[node.inputs[0]].layout
        assert needed is not None
        held = with_layout(self._graph, sums[result], needed, streamed=False)
        inputs = [held, self._name(node.inputs[1], k), *node.inputs[2:]]
        self._graph.nodes.append(MNNode(node.op_type, f"{node.name}_{k}", inputs, [name], dict(node.attrs)))
        self._origin[name] = self._template.origin.get(result, result)
        sums[result] = name

    def _split_free(self, piece: str, name: str) -> None:
        """Cut an input or parameter like its only reader wants it."""
        graph, value, like = self._graph, self._graph.values[name], self._planned.values[piece]
        axis = self._pieces[piece].axis
        assert axis is not None and like.layout is not None
        value.layout, value.pad_type = with_time(like.layout.layout, axis, value.shape), like.pad_type
        if value.pad_type is None and value.layout.is_padded:
            value.pad_type = PadType.ZERO
        for names in (graph.inputs, graph.params):
            if piece in names:
                names.remove(piece)
        self._at_border(MNNode("MNCoreInputSplit", f"{piece}_split", [name], [piece], {"axis": axis}))

    def _split_image(self, image: str, free: str) -> None:
        """A second image of slices of a parameter: slices of a second image of the whole."""
        graph, root = self._graph, self._template.free[free]
        whole = graph.add_value(_renamed(graph.values[root], graph.fresh_name(root, "Image")))
        graph.params.append(whole.name)
        del graph.images[image], graph.values[image]
        graph.images[whole.name] = root
        self._pieces[image] = self._pieces[free]
        self._split_free(image, whole.name)

    # -- values --------------------------------------------------------------------------------------------------

    def _at_border(self, node: MNNode) -> None:
        """Input split and output concat: all slices at once."""
        split = node.op_type == "MNCoreInputSplit"
        name = node.outputs[0] if split else node.inputs[0]
        count = self._pieces[name].slices
        slices = [self._slice(name, k).name if split else self._name(name, k) for k in range(count)]
        inputs, outputs = (node.inputs, slices) if split else (slices, node.outputs)
        self._graph.nodes.append(MNNode(node.op_type, node.name, list(inputs), list(outputs), dict(node.attrs)))

    def _name(self, name: str, k: int) -> str:
        """The name of a value in slice k; values that are not sliced keep theirs."""
        return self._names[name, k] if name in self._pieces else name

    def _slice(self, name: str, k: int) -> MNValue:
        """Slice k of a template value, as a new value of the graph."""
        value = _renamed(self._planned.values[name], f"{name}_{k}")
        self._names[name, k] = value.name
        return self._graph.add_value(value)


def _renamed(value: MNValue, name: str) -> MNValue:
    made = copy.copy(value)
    made.name = name
    return made

