"""Reshape, Flatten, Squeeze, Unsqueeze, Transpose: the same data seen with another shape; nothing moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.errors import LayoutConflict
from compiler.graph import MNGraph, MNNode, MNType, MNValue
from compiler.layers.base import Assignment, EmitContext, Layer, Raw, SliceAxis
from compiler.layers.gemm_layouts import x_layout
from compiler.layers.image_layouts import one_l1b
from compiler.layers.layouts import default_layout
from compiler.layout import Layout, LayoutError, PadLayout, merge_reshape
from compiler.switch.chains import chain_cycles


class _Alias(Layer):
    alias: ClassVar[bool] = True

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.outputs[0])

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        return graph.values[node.inputs[0]].pad_type or "Dirty"

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        """Nothing moves."""


class Reshape(_Alias):
    """A reshape whose digits chain up to the new axes (compiler.md R9); others become MNCoreReshape and move."""

    op_types: ClassVar[tuple[str, ...]] = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        wanted = None
        if outputs[0] is not None:
            back = merge_reshape(PadLayout(out.shape, outputs[0]), value.shape)
            wanted = back.layout if back is not None else None
        elif merge_reshape(default_layout(value), out.shape) is None:
            back = merge_reshape(default_layout(out), value.shape)
            wanted = back.layout if back is not None else None
        return [wanted] + [None] * (len(node.inputs) - 1)

    def pass_on(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        """Images that become rows move in any case: within an L1B, in the way products take rows."""
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        flat = len(value.shape) > 2 and len(out.shape) == 2 and value.shape[0] == out.shape[0]
        if not flat or node.inputs[0] in graph.inputs or value.dtype is not MNType.HALF:
            return [None]
        merges = merge_reshape(default_layout(value), out.shape) is not None
        return [None if merges else x_layout(*out.shape)]

    def instead(self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None]) -> MNNode | None:
        layout = inputs[0] or default_layout(graph.values[node.inputs[0]])
        if merge_reshape(layout, graph.values[node.outputs[0]].shape) is not None:
            return None
        return MNNode("MNCoreReshape", node.name, node.inputs[:1], node.outputs)

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        layout = inputs[0] or default_layout(value)
        result = merge_reshape(layout, out.shape)
        assert result is not None  # `instead` keeps the others away
        wanted = PadLayout(out.shape, wishes[0]) if wishes[0] is not None and wishes[0].num_slices == 1 else None
        if wanted is not None and self._become_images(value, wanted) and one_l1b(layout) is None:
            rows = PadLayout(value.shape, x_layout(*value.shape))
            images = merge_reshape(rows, out.shape)
            if images is not None:
                by_rows = chain_cycles(layout, rows, value.dtype) + chain_cycles(images, wanted, value.dtype)
                if by_rows < chain_cycles(result, wanted, value.dtype):
                    layout, result = rows, images
        return Assignment((layout, *([None] * (len(node.inputs) - 1))), (result,))

    @staticmethod
    def _become_images(value: MNValue, wanted: PadLayout) -> bool:
        """Whether rows of a product are gradients of images, which every L1B wants of its own."""
        rows = value.dtype is MNType.HALF and len(value.shape) == 2 and value.shape[0] == wanted.shape[0]
        return rows and one_l1b(wanted) is not None

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        """Axes with the same number of elements before them: a slice of either is the same run of elements."""
        old, new = graph.values[node.inputs[0]].shape, graph.values[node.outputs[0]].shape
        before = {math.prod(new[:axis]): axis for axis, extent in enumerate(new) if extent > 1}
        pairs = ((axis, before.get(math.prod(old[:axis]))) for axis, extent in enumerate(old) if extent > 1)
        return [SliceAxis({0: axis}, {0: other}) for axis, other in pairs if other is not None]

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        return [inputs[0].reshape(graph.values[node.outputs[0]].shape)]


class Transpose(_Alias):
    """A permutation of the axes."""

    op_types: ClassVar[tuple[str, ...]] = ("Transpose",)

    @staticmethod
    def _perm(node: MNNode, graph: MNGraph) -> list[int]:
        rank = len(graph.values[node.inputs[0]].shape)
        return [int(axis) for axis in node.attrs.get("perm", range(rank)[::-1])]

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        if outputs[0] is None:
            return [None]
        perm = self._perm(node, graph)
        return [outputs[0].transpose([perm.index(axis) for axis in range(len(perm))])]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        layout = inputs[0] or default_layout(graph.values[node.inputs[0]])
        try:
            return Assignment((layout,), (layout.transpose(self._perm(node, graph)),))
        except LayoutError as error:
            raise LayoutConflict(f"Transpose {node.outputs[0]!r}: {error}") from None

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        return [SliceAxis({0: old}, {0: new}) for new, old in enumerate(self._perm(node, graph))]

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        return [np.ascontiguousarray(inputs[0].transpose(self._perm(node, graph)))]


LAYERS: tuple[Layer, ...] = (Reshape(), Transpose())
