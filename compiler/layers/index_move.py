"""Operators that place elements by a rule known at compile time: Slice, Concat, Pad, Expand, Tile, Split, ...

What goes where comes from PFVM's operator applied to element numbers (`compiler.switch.elements`); how it goes there
is a selection from streams (`compiler.switch.selection`).  The result lies as its reader wishes or close to its first
source, whatever needs fewer cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.selection import Places, emit_selection
from compiler.errors import UnsupportedOperator
from compiler.graph import Location, MNGraph, MNNode, encode
from compiler.layers.base import Assignment, EmitContext, Layer, Raw, SliceAxis, Table, own_inputs, table_inputs
from compiler.layers.layouts import default_layout
from compiler.layout import Layout, PadLayout
from compiler.layout.levels import IntArray
from compiler.switch.carry import carried_layout
from compiler.switch.cells import Move, pack_index
from compiler.switch.chains import chain_cycles
from compiler.switch.elements import element_map, kept_axes
from compiler.switch.placing import chunk_slots, scratch_words
from compiler.switch.routes import select_cost
from compiler.switch.selection import select, table_data, table_layout

#: Operators all of whose inputs are moved; of the others the first one is, the rest says how.
MOVE_ALL = ("Concat",)


class IndexMove(Layer):
    """Each output element is one source element or the fill value."""

    op_types: ClassVar[tuple[str, ...]] = (
        "Slice",
        "Concat",
        "Pad",
        "Expand",
        "Tile",
        "Split",
        "Gather",
        "GatherElements",
    )

    def sources(self, node: MNNode) -> list[int]:
        """Positions of the inputs whose elements are moved."""
        return [k for k, name in enumerate(own_inputs(node)) if name] if node.op_type in MOVE_ALL else [0]

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (*(node.inputs[k] for k in self.sources(node)), *node.outputs)

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        asked: list[Layout | None] = [None] * len(node.inputs)
        if outputs[0] is None:
            return asked
        out = PadLayout(graph.values[node.outputs[0]].shape, outputs[0])
        if out.num_slices > 1:
            return asked
        for position, axes in zip(self.sources(node), self._back(node, graph), strict=True):
            asked[position] = carried_layout(out, graph.values[node.inputs[position]].shape, axes).layout
        return asked

    def _back(self, node: MNNode, graph: MNGraph) -> list[list[int | None]]:
        """For each source the output axis that each of its axes lies along."""
        shapes = self._shapes(node, graph)
        kept = self._axes(node, graph)
        return [[kept.index(axis) if axis in kept else None for axis in range(len(shape))] for shape in shapes]

    def _shapes(self, node: MNNode, graph: MNGraph) -> list[tuple[int, ...]]:
        return [graph.values[node.inputs[k]].shape for k in self.sources(node)]

    def _axes(self, node: MNNode, graph: MNGraph) -> list[int | None]:
        """For each output axis the source axis it lies along: one that stays, or the one in the same place."""
        shapes = self._shapes(node, graph)
        kept = kept_axes(element_map(node, graph, self.sources(node))[0], shapes)
        if len(kept) == len(shapes[0]):
            return [axis if axis is not None or k in kept else k for k, axis in enumerate(kept)]
        return kept

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        if node.op_type == "GatherElements":
            return []  # its indices, which are data, have every axis of the result
        sources, shapes = self.sources(node), self._shapes(node, graph)
        maps = element_map(node, graph, sources)
        kept = [kept_axes(elements, shapes) for elements in maps]
        return [
            SliceAxis(dict.fromkeys(sources, axis), dict.fromkeys(range(len(maps)), k))
            for k, axis in enumerate(kept[0])
            if axis is not None and all(other[k] == axis for other in kept) and not self._indexed(node, graph, axis)
        ]

    @staticmethod
    def _indexed(node: MNNode, graph: MNGraph, axis: int) -> bool:
        """Whether constant indices belong to a source axis, so that a part of it would need other indices."""
        rank = len(graph.values[node.inputs[0]].shape)
        return node.op_type == "Gather" and int(node.attrs.get("axis", 0)) % rank == axis

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        layouts: list[PadLayout | None] = [None] * len(node.inputs)
        sources = self.sources(node)
        for k, name in enumerate(node.inputs):
            if name and k not in sources and graph.values[name].constant is None:
                raise UnsupportedOperator(
                    f"{node.op_type} {node.outputs[0]!r}: input {k}, {name!r}, must be known at compile time"
                )
        for position in sources:
            layouts[position] = inputs[position] or default_layout(graph.values[node.inputs[position]])
        given = tuple(layout for k, layout in enumerate(layouts) if k in sources and layout is not None)
        maps = element_map(node, graph, sources)
        outputs = [
            self._best(node, graph, given, number, elements, wishes[number]) for number, elements in enumerate(maps)
        ]
        return Assignment(tuple(layouts), tuple(outputs))

    def _best(
        self,
        node: MNNode,
        graph: MNGraph,
        given: tuple[PadLayout, ...],
        number: int,
        elements: IntArray,
        wish: Layout | None,
    ) -> PadLayout:
        value = graph.values[node.outputs[number]]
        near = carried_layout(given[0], value.shape, self._axes(node, graph))
        wanted = PadLayout(value.shape, wish) if wish is not None else None
        candidates = [near, wanted if wanted is not None and wanted.num_slices == 1 else default_layout(value)]

        def cycles(layout: PadLayout) -> int:
            cost = select_cost(self._move(node, graph, given, layout, elements)).cycles
            if wanted is None or wanted.num_slices > 1 or layout.equivalent(wanted):
                return cost
            return cost + chain_cycles(layout, wanted, value.dtype)

        return min(candidates, key=cycles)

    def _move(
        self, node: MNNode, graph: MNGraph, given: tuple[PadLayout, ...], target: PadLayout, elements: IntArray
    ) -> Move:
        value = graph.values[node.outputs[0]]
        plain = np.array_equal(elements.ravel(), np.arange(elements.size))
        return Move(given, target, value.dtype, None if plain else pack_index(elements), self._fill(node, graph))

    def _fill(self, node: MNNode, graph: MNGraph) -> int:
        """Raw element of the places that take no source element."""
        names = own_inputs(node)
        if node.op_type == "MNCoreWindows":
            fill = np.array([node.attrs["fill"]], np.float32)
            return int(encode(fill, graph.values[node.outputs[0]].dtype)[0])
        data = graph.values[names[2]].constant if node.op_type == "Pad" and len(names) > 2 and names[2] else None
        return 0 if data is None else int(encode(data, graph.values[node.outputs[0]].dtype).ravel()[0])

    def moves(self, node: MNNode, graph: MNGraph) -> list[Move]:
        """The move of each output, once layouts are settled."""
        sources = self.sources(node)
        layouts = [graph.values[node.inputs[k]].layout for k in sources]
        given = tuple(layout for layout in layouts if layout is not None)
        result = []
        for name, elements in zip(node.outputs, element_map(node, graph, sources), strict=True):
            target = graph.values[name].layout
            assert target is not None
            result.append(self._move(node, graph, given, target, elements))
        return result

    def tables(self, node: MNNode, graph: MNGraph) -> list[Table]:
        data = [table_data(select(move)) for move in self.moves(node, graph)]
        return [Table(found, table_layout(found.shape)) for found in data if found is not None]

    @staticmethod
    def _share(node: MNNode) -> int:
        """The part of LM0 that a chunk may take is one of this many."""
        return 4

    def _chunk(self, node: MNNode, graph: MNGraph, move: Move) -> int:
        names = [name for name in (*node.inputs, *node.outputs) if name and graph.values[name].loc is Location.LM0]
        letters = ["m" if node.inputs[k] in names else "n" for k in self.sources(node)]
        resident = sum(graph.values[name].num_lw for name in set(names))
        return chunk_slots(select(move), letters, graph.lm_lws, resident, share=self._share(node))

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        words = max(scratch_words(self._chunk(node, graph, move)) for move in self.moves(node, graph))
        return {"m": words} if words else {}

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        def place(name: str) -> tuple[str, int]:
            stream = ctx.stream(name)
            return stream.lm, stream.addr

        tables = iter(table_inputs(node))
        sources = tuple(place(node.inputs[k]) for k in self.sources(node))
        for name, move in zip(node.outputs, self.moves(node, ctx.graph), strict=True):
            selection = select(move)
            table = place(next(tables)) if selection.varying else None
            chunk = self._chunk(node, ctx.graph, move)
            places = Places(sources, place(name), table, ctx.scratch.get("m", 0), chunk)
            emit_selection(asm, selection, places)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        sources = self.sources(node)
        dtype = graph.values[node.outputs[0]].dtype.raw_dtype
        fill = np.array([self._fill(node, graph)], dtype=np.uint64).astype(dtype)
        elements = np.concatenate([*(inputs[k].ravel() for k in sources), fill])
        return [elements[found] for found in element_map(node, graph, sources)]


LAYERS: tuple[Layer, ...] = (IndexMove(),)
