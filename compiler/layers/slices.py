"""Nodes around time-sliced values: parts of a DRAM image as values of their own, and values that move slice by slice.

All slices of a value have one shape; where the extent does not divide, the last one ends in rows of padding.

MNCoreInputSplit and MNCoreOutputConcat move nothing: a slice is a part of the DRAM image of the whole value.
MNCoreSlicedDownload brings all slices to local memory side by side, for an operator that needs the value whole;
MNCoreSlicedUpload is the way back, for a value that was made whole and is read in slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.transfer import Route, download, upload
from compiler.graph import MNGraph, MNNode, fill_bits
from compiler.layers.base import Assignment, EmitContext, Layer, Raw
from compiler.layers.layouts import default_layout
from compiler.layers.moves import Move
from compiler.layout import Layout, PadLayout
from compiler.layout.image import DramImage
from compiler.layout.time import time_axis, with_time, without_time


class InputSplit(Layer):
    """Attribute `axis`; the slices of the input, in order, as views of its DRAM image."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreInputSplit",)
    streamed: ClassVar[frozenset[int]] = frozenset({0})
    to_dram: ClassVar[bool] = True

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        whole, piece = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        axis = int(node.attrs["axis"])
        held = inputs[0]
        if held is not None and time_axis(held.layout) == axis:
            return Assignment((held,), (PadLayout(piece.shape, without_time(held.layout)),))
        layout = PadLayout(piece.shape, wishes[0]) if wishes[0] is not None else default_layout(piece)
        return Assignment((with_time(layout.layout, axis, whole.shape),), (layout,))

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        return graph.values[node.inputs[0]].pad_type or "Dirty"

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        """Nothing moves."""

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        axis, value = int(node.attrs["axis"]), graph.values[node.inputs[0]]
        rest = sum(graph.values[name].shape[axis] for name in node.outputs) - value.shape[axis]
        widths = [(0, rest if number == axis else 0) for number in range(len(value.shape))]
        filled = np.pad(inputs[0], widths, constant_values=fill_bits(value.pad_type, value.dtype))
        return np.split(filled, len(node.outputs), axis=axis)


class OutputConcat(Layer):
    """Attribute `axis`; slices in DRAM, in order, as one value."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreOutputConcat",)
    to_dram: ClassVar[bool] = True

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        layout = inputs[0] or default_layout(graph.values[node.inputs[0]])
        whole = with_time(layout.layout, int(node.attrs["axis"]), graph.values[node.outputs[0]].shape)
        return Assignment((layout,), (whole,))

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        kinds = {graph.values[name].pad_type for name in node.inputs} - {None}
        return str(kinds.pop()) if len(kinds) == 1 else "Dirty"

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        """Nothing moves."""

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        axis = int(node.attrs["axis"])
        joined = np.concatenate(inputs, axis=axis)
        return [joined[(slice(None),) * axis + (slice(graph.values[node.outputs[0]].shape[axis]),)]]


def _image(graph: MNGraph, name: str) -> tuple[Route, int, int, int]:
    """(route of a slice, slices, DRAM long words and LM words from one slice to the next) of a sliced DRAM value."""
    value = graph.values[name]
    assert value.layout is not None
    slice_lws = DramImage(value.layout, value.dtype).slice_lws
    return Route.of(value.layout), value.layout.num_slices, slice_lws, 2 * value.layout.num_lw


class SlicedDownload(Move):
    """DRAM -> LM, all slices side by side (`addressed`)."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreSlicedDownload",)
    streamed: ClassVar[frozenset[int]] = frozenset({0})

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        place, dram = ctx.stream(node.outputs[0]), ctx.dram(node.inputs[0])
        route, slices, image, block = _image(ctx.graph, node.inputs[0])
        for k in range(slices):
            download(asm, route, dram + k * image, place.lm, place.addr + k * block)


class SlicedUpload(Move):
    """LM -> DRAM, from side by side to one slice image after the other."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreSlicedUpload",)
    to_dram: ClassVar[bool] = True

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        place, dram = ctx.stream(node.inputs[0]), ctx.dram(node.outputs[0])
        route, slices, image, block = _image(ctx.graph, node.outputs[0])
        for k in range(slices):
            upload(asm, route, place.lm, place.addr + k * block, dram + k * image)


LAYERS: tuple[Layer, ...] = (InputSplit(), OutputConcat(), SlicedDownload(), SlicedUpload())
