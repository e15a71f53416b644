"""MNCoreLayoutSwitch: the same tensor in another layout, inside local memory, for any two complete layouts.

It takes the cheapest of the routes of `compiler.switch.routes`; the second input is the table of `select`, when PEs
need different addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from compiler.emit.asm import Asm
from compiler.graph import MNGraph, MNNode
from compiler.layers.base import Assignment, EmitContext, Layer, Raw, Table
from compiler.layout import Layout, PadLayout
from compiler.switch.cells import Move
from compiler.switch.placing import scratch_words
from compiler.switch.routes import SELECT, cheapest, chunk_for, emit_route
from compiler.switch.selection import select, table_data, table_layout


def move_of(node: MNNode, graph: MNGraph) -> Move:
    """The move a switch makes."""
    value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    assert value.layout is not None and out.layout is not None
    return Move((value.layout,), out.layout, value.dtype)


def _route(move: Move) -> str:
    return cheapest(move.sources[0], move.target, move.mntype)


class LayoutSwitch(Layer):
    """A value and perhaps a table in, the value in another layout out."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreLayoutSwitch",)

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.outputs[0])

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        layouts = [graph.values[name].layout for name in (*node.inputs, *node.outputs)]
        return Assignment(tuple(layouts[:-1]), tuple(layout for layout in layouts[-1:] if layout is not None))

    def tables(self, node: MNNode, graph: MNGraph) -> list[Table]:
        move = move_of(node, graph)
        data = table_data(select(move)) if _route(move) == SELECT else None
        return [] if data is None else [Table(data, table_layout(data.shape))]

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        move = move_of(node, graph)
        if _route(move) != SELECT:
            return {}
        return {"m": scratch_words(chunk_for(select(move), graph, node))}

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        places = [ctx.stream(name) for name in (*node.inputs, *node.outputs)]
        source, *table, target = [(place.lm, place.addr) for place in places]
        move = move_of(node, ctx.graph)
        route = _route(move)
        chunk = chunk_for(select(move), ctx.graph, node) if route == SELECT else 0
        emit_route(asm, route, move, source, target, table[0] if table else None, ctx.scratch.get("m", 0), chunk)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        return [inputs[0]]


LAYERS: tuple[Layer, ...] = (LayoutSwitch(),)
