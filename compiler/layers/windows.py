"""The windows of convolutions and poolings, and filters as operands of products with them.

A window stays in the L1B of its image, so what is moved is a batch of the images that one L1B holds: every L1B does the
same.  Source and windows lie as `image_layout` says, except that a source may lie otherwise inside its L1B.  The
padding of what this file makes holds the fill value, since the product that follows needs zeros there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.graph import MNGraph, MNNode
from compiler.layers.base import DIRTY, ZERO, Assignment, SliceAxis
from compiler.layers.image_layouts import filter_layout, image_layout, one_l1b, pixel_layout
from compiler.layers.index_move import IndexMove
from compiler.layout import Layout, PadLayout
from compiler.layout.levels import IntArray
from compiler.switch.cells import Move, pack_index
from compiler.switch.elements import FILLED
from compiler.switch.windows import windows

#: The smallest part of LM0 for a chunk is one of this many.
LEAST_SHARE = 16


def _filled(elements: IntArray, target: PadLayout) -> tuple[IntArray, PadLayout]:
    """A map to a layout as one that also fills the padding."""
    widths = [(0, padded - extent) for padded, extent in zip(target.padded_shape, elements.shape, strict=True)]
    return np.pad(elements, widths, constant_values=FILLED), PadLayout(target.padded_shape, target.layout)


class Windows(IndexMove):
    """Attributes: see `compiler.switch.windows`; `share`: the part of LM0 for a chunk of images is one of this many."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreWindows",)
    @staticmethod
    def _images(node: MNNode, graph: MNGraph) -> tuple[PadLayout, PadLayout]:
        """Layouts of source and result."""
        source, out = (graph.values[name] for name in (node.inputs[0], node.outputs[0]))
        channels, taps = (-1, 1) if node.attrs.get("fold", 0) else (1, None)
        given = None if node.attrs.get("fold", 0) else pixel_layout(source.shape, source.dtype)
        given = given or image_layout(source.shape, source.dtype, channels, taps)
        kept = None if node.attrs.get("joined", 0) or node.attrs.get("slots", 0) == 1 else 1
        return given, image_layout(out.shape, out.dtype, -1, kept)

    def lead(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        return self.wish(node, graph, [None])

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        return [self._images(node, graph)[0].layout]

    def pass_on(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        return [self._images(node, graph)[1].layout]

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        batch = SliceAxis({0: 0}, {0: 0})
        if node.attrs.get("joined", 0):
            return [batch]
        channels = len(graph.values[node.inputs[0]].shape) - 1 if node.attrs.get("fold", 0) else 1
        return [batch, SliceAxis({0: channels}, {0: len(graph.values[node.outputs[0]].shape) - 1})]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        source, result = self._images(node, graph)
        given = inputs[0]
        return Assignment((source if given is None or one_l1b(given) is None else given,), (result,))

    @staticmethod
    def _share(node: MNNode) -> int:
        """An image that is seen whole needs no parts to be joined, so it may take much unless room is short."""
        return int(node.attrs.get("share", 2))

    def tighten(self, node: MNNode) -> bool:
        share = self._share(node)
        node.attrs["share"] = 2 * share
        return share < LEAST_SHARE

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        source = graph.values[node.inputs[0]]
        assert source.layout is not None
        whole = source.layout.shape[0] == source.layout.padded_shape[0] or source.pad_type == ZERO
        return ZERO if whole and float(node.attrs["fill"]) == 0 else DIRTY

    def moves(self, node: MNNode, graph: MNGraph) -> list[Move]:
        source, out = (graph.values[name].layout for name in (node.inputs[0], node.outputs[0]))
        assert source is not None and out is not None
        given, made = one_l1b(source), one_l1b(out)
        assert given is not None and made is not None
        numbers = np.arange(np.prod(given.shape)).reshape(given.shape)
        elements, target = _filled(windows(numbers, made.shape, node.attrs), made)
        dtype = graph.values[node.outputs[0]].dtype
        return [Move((given,), target, dtype, pack_index(elements), self._fill(node, graph))]


class Filter(IndexMove):
    """A filter as an operand of a product with windows (MNCoreFilter), and the way back (MNCoreFilterGrad).

    Attributes: `group`, `back`, `columns` (see `compiler.switch.windows`).
    """

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreFilter", "MNCoreFilterGrad")

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        value = graph.values[node.inputs[0]]
        return [filter_layout(value.shape, value.dtype).layout if node.op_type == "MNCoreFilter" else None]

    def pass_on(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        value = graph.values[node.outputs[0]]
        return [filter_layout(value.shape, value.dtype).layout if node.op_type == "MNCoreFilterGrad" else None]

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        if int(node.attrs.get("group", 1)) > 1 or node.attrs.get("back", 0):
            return []
        of_filter, of_operand = 0, 1 if node.attrs.get("columns", 0) else 0
        ends = (of_filter, of_operand) if node.op_type == "MNCoreFilter" else (of_operand, of_filter)
        return [SliceAxis({0: ends[0]}, {0: ends[1]})]

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        return ZERO

    def _move(
        self, node: MNNode, graph: MNGraph, given: tuple[PadLayout, ...], target: PadLayout, elements: IntArray
    ) -> Move:
        filled, padded = _filled(elements, target)
        return Move(given, padded, graph.values[node.outputs[0]].dtype, pack_index(filled))


LAYERS = (Windows(), Filter())
