"""ArgMax, ReduceMax: the largest element along the last axis of a matrix, its index or its value.

The axis must lie in addresses, words and PEs, alike in all MABs: `((8_L2B, 8_L1B, rows), (tiles:rows, 4_W, 4_PE);
B@[MAB])`; the result has one element per row in every word, PE and MAB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit.argmax import RowReduce, emit_argmax, emit_row_max
from compiler.emit.asm import Asm
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType
from compiler.layers.base import NEG_INF, Assignment, EmitContext, Layer, PadNeed, Raw, raw_float
from compiler.layers.layouts import default_layout
from compiler.layers.rowview import RowView, row_view
from compiler.layout import Axis, Layout, PadLayout

LANES = {MNType.HALF: 4, MNType.FLOAT: 2}


def _axis(node: MNNode) -> int:
    if node.op_type == "ArgMax":
        return int(node.attrs.get("axis", 0))
    axes = node.attrs.get("axes", ())
    if len(axes) != 1:
        raise UnsupportedOperator(
            f"{node.op_type} {node.outputs[0]!r}: exactly one axis is supported, got {list(axes)}"
        )
    return int(axes[0])


class RowMax(Layer):
    """Reduction of the last axis of a matrix to its maximum."""

    op_types: ClassVar[tuple[str, ...]] = ("ArgMax", "ReduceMax")

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return () if node.op_type == "ArgMax" else (node.inputs[0], node.outputs[0])

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        value = graph.values[node.inputs[0]]
        return [default_layout(value).layout] + [None] * (len(node.inputs) - 1)

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value = graph.values[node.inputs[0]]
        if len(value.shape) != 2 or _axis(node) not in (1, -1):
            raise UnsupportedOperator(
                f"{node.op_type} {node.outputs[0]!r}: only the last axis of a matrix is supported, got axis "
                f"{_axis(node)} of {value.shape}"
            )
        if node.attrs.get("select_last_index", 0):
            raise UnsupportedOperator(f"ArgMax {node.outputs[0]!r}: select_last_index=1 has no emitter")
        if value.dtype not in LANES:
            raise UnsupportedOperator(f"{node.op_type} {node.outputs[0]!r}: element type {value.dtype} has no emitter")
        layout = inputs[0]
        view = row_view(layout, LANES[value.dtype]) if layout is not None else None
        if layout is None or view is None:
            layout = default_layout(value)
            view = row_view(layout, LANES[value.dtype])
        assert view is not None
        rows, out = view.result, graph.values[node.outputs[0]]
        if len(out.shape) == 2:
            rows = Layout((*rows.axes, Axis(())), rows.broadcast)
        return Assignment((layout, *([None] * (len(node.inputs) - 1))), (PadLayout(out.shape, rows),))

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        return {0: PadNeed(NEG_INF, (1,))}

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        return {"other": 8 * len(self._view(node, graph).tiles)} if node.op_type == "ArgMax" else {}

    @staticmethod
    def _view(node: MNNode, graph: MNGraph) -> RowView:
        value = graph.values[node.inputs[0]]
        assert value.layout is not None
        view = row_view(value.layout, LANES[value.dtype])
        assert view is not None
        return view

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        value = ctx.graph.values[node.inputs[0]]
        assert value.layout is not None
        source, target = ctx.stream(node.inputs[0]), ctx.stream(node.outputs[0])
        view = self._view(node, ctx.graph)
        if value.layout.padded_shape[1] > 0x7FFF and value.dtype is MNType.HALF:
            raise UnsupportedOperator(f"ArgMax {node.outputs[0]!r}: {value.shape[1]} classes exceed 16-bit indices")
        job = RowReduce(
            lanes=LANES[value.dtype],
            src_lm=source.lm,
            rows=tuple(tuple(source.addr + 2 * (row + tile) for tile, _ in view.tiles) for row, _ in view.rows),
            tile_index=tuple(index for _, index in view.tiles),
            word_index=view.word_index,
            pe_weight=view.pe_weight,
            out_lm=target.lm,
            out=tuple(target.addr + 2 * place for _, place in view.rows),
            scratch=ctx.scratch.get(target.lm, 0),
        )
        if node.op_type == "ArgMax":
            emit_argmax(asm, job)
        else:
            emit_row_max(asm, job)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        numbers = raw_float(value, inputs[0]) + np.float32(0)
        index = numbers.argmax(axis=1)
        if node.op_type == "ArgMax":
            return [index.astype(np.uint32).reshape(out.shape)]
        best = np.take_along_axis(inputs[0], index[:, None], axis=1)
        zero = np.take_along_axis(numbers, index[:, None], axis=1) == 0
        return [np.where(zero, inputs[0].dtype.type(0), best).reshape(out.shape)]


LAYERS: tuple[Layer, ...] = (RowMax(),)
