"""Nodes the planners insert to move a value: downloads, MNCoreUpload and Identity (to the other local memory)."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from compiler.emit.asm import Asm
from compiler.emit.deal import download_dealt
from compiler.emit.elementwise import emit_copy
from compiler.emit.joint import Part, download_together, upload_together
from compiler.emit.transfer import Route, download, download_to_both_banks, upload
from compiler.graph import MNGraph, MNNode
from compiler.layers.base import Assignment, EmitContext, Layer, Raw, SliceAxis, same_axes
from compiler.layers.layouts import default_layout
from compiler.layout import Layout, Level, PadLayout
from compiler.layout.deal import deal_rows, inner_stride
from compiler.layout.l2b import bank_stride, gather_banks


class Move(Layer):
    """A node whose output has the value and the layout of its input."""

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.outputs[0])

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        return [outputs[0]]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        layout = inputs[0] or default_layout(graph.values[node.inputs[0]])
        return Assignment((layout,), (layout,))

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        return graph.values[node.inputs[0]].pad_type or "Dirty"

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        return same_axes(node, graph)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        return list(inputs)


def _route(graph: MNGraph, name: str) -> Route:
    layout = graph.values[name].layout
    assert layout is not None
    return Route.of(layout)


def _parts(inside: Sequence[str], stored: Sequence[str], ctx: EmitContext) -> list[Part]:
    """The values of a joint transfer, by the names they have in local memory and in DRAM."""
    places = [ctx.stream(name) for name in inside]
    return [
        Part(_route(ctx.graph, name), ctx.dram(home), place.lm, place.addr)
        for name, home, place in zip(inside, stored, places, strict=True)
    ]


class Download(Move):
    """DRAM -> LM; of several values behind each other in DRAM by one transfer."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreDownload",)

    def adjacent(self, node: MNNode) -> Sequence[int]:
        return range(len(node.inputs)) if len(node.inputs) > 1 else ()

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        if len(node.inputs) > 1:
            download_together(asm, _parts(node.outputs, node.inputs, ctx))
            return
        place = ctx.stream(node.outputs[0])
        download(asm, _route(ctx.graph, node.outputs[0]), ctx.dram(node.inputs[0]), place.lm, place.addr)


class SpreadDownload(Layer):
    """DRAM -> LM where the L2Bs that hold a part in local memory are not those of the layout in DRAM."""

    streamed: ClassVar[frozenset[int]] = frozenset({0})

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.outputs[0])

    @staticmethod
    @abstractmethod
    def spread(layout: Layout) -> Layout:
        """The layout in local memory of a value that DRAM holds in `layout`."""

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        layout = inputs[0] or default_layout(graph.values[node.inputs[0]])
        return Assignment((layout,), (PadLayout(layout.shape, self.spread(layout.layout)),))

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        return graph.values[node.inputs[0]].pad_type or "Dirty"

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        return [inputs[0]]


def _reach(layout: Layout) -> int:
    """Long words of a PE up to the last one that holds data."""
    return 1 + sum(sub.span for axis in layout.axes for sub in axis if sub.level is Level.ADDR)


class BankDownload(SpreadDownload):
    """Each L2B receives the parts of both banks of its group (`gather_banks` of the input's layout)."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreBankDownload",)
    spread = staticmethod(gather_banks)

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        source = ctx.graph.values[node.inputs[0]].layout
        assert source is not None
        stride = bank_stride(source.layout)
        place = ctx.stream(node.outputs[0])

        def where(bank: int, a: int) -> int:
            return a % stride + bank * stride + a // stride * 2 * stride

        dram = ctx.dram(node.inputs[0])
        download_to_both_banks(asm, Route.of(source), dram, place.lm, place.addr, where, _reach(source.layout))


class DealtDownload(SpreadDownload):
    """Rows are dealt to the banks of every group (`deal_rows` of the input's layout)."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreDealtDownload",)
    spread = staticmethod(deal_rows)

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        source = ctx.graph.values[node.inputs[0]].layout
        assert source is not None
        stride = inner_stride(next(axis for axis in source.layout.axes if any(sub.level is Level.L2B for sub in axis)))
        place = ctx.stream(node.outputs[0])

        def where(bank: int, half: int, a: int) -> int:
            return a % stride + (half + 2 * bank + a // stride * 4) * stride

        dram = ctx.dram(node.inputs[0])
        download_dealt(asm, Route.of(source), dram, place.lm, place.addr, where, _reach(source.layout))


class Upload(Move):
    """LM -> DRAM; of several values that lie behind each other there by one transfer."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreUpload",)
    to_dram: ClassVar[bool] = True

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        if len(node.inputs) > 1:
            # Results with a place of their own are moved one by one when the program is; only what goes over
            # parameters keeps its neighbours.
            kept = {ctx.graph.values[name].addr for name in ctx.graph.params}
            parts = _parts(node.inputs, node.outputs, ctx)
            upload_together(asm, [replace(part, alone=part.dram not in kept) for part in parts])
            return
        place = ctx.stream(node.inputs[0])
        earlier = itertools.takewhile(lambda other: other is not node, ctx.graph.nodes)
        half = sum(other.op_type == node.op_type for other in earlier) % 2
        upload(asm, _route(ctx.graph, node.inputs[0]), place.lm, place.addr, ctx.dram(node.outputs[0]), half)


class Identity(Move):
    """LM0 <-> LM1."""

    op_types: ClassVar[tuple[str, ...]] = ("Identity",)

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        emit_copy(asm, ctx.stream(node.inputs[0]), ctx.stream(node.outputs[0]))


LAYERS: tuple[Layer, ...] = (Download(), BankDownload(), DealtDownload(), Upload(), Identity())
