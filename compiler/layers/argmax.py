"""ArgMax and ArgMin along one axis of a value in any complete layout that does not split the axis over L2Bs.

The result keeps the layout of the other axes and lies alike in all members of the levels of the reduced one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit.argmax import ArgJob, emit_arg
from compiler.emit.asm import Asm
from compiler.emit.fold import FoldJob, FoldOp
from compiler.emit.transfer import Route
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode
from compiler.layers.base import Assignment, EmitContext, Layer, PadNeed, Raw, SliceAxis
from compiler.layers.layouts import rows_layout
from compiler.layers.padding import axis_index
from compiler.layers.reduce import KINDS, math_of, numbers_of
from compiler.layout import Layout, Level, PadLayout
from compiler.layout.folding import Folding, fold, keep_dims

EXTREME = {"ArgMax": "ReduceMax", "ArgMin": "ReduceMin"}
_WORDS = FoldOp("lpassa", "imin", "$aluf", "fmin")
#: By elements of a long word: how offers are joined (those of a double fill both words), and the largest index.
OFFER = {4: FoldOp("lpassa", "smin", "$aluf", "hmin"), 2: _WORDS, 1: _WORDS}
MOST = {4: 0x7FFE, 2: 0x7FFFFFFE, 1: 0x7FFFFFFE}


class ArgExtreme(Layer):
    """The first index of the largest or smallest element."""

    op_types: ClassVar[tuple[str, ...]] = tuple(EXTREME)

    @staticmethod
    def _axis(node: MNNode, graph: MNGraph) -> int:
        return int(node.attrs.get("axis", 0)) % len(graph.values[node.inputs[0]].shape)

    @staticmethod
    def _folding(node: MNNode, graph: MNGraph, layout: Layout) -> Folding | None:
        """The reduction in a layout, or None when it cannot be done there.

        Elements of one result have to fill the long word where they are halves, since the index takes more than one.
        """
        lanes = graph.values[node.inputs[0]].dtype.words_per_lw
        folding = fold(layout, (ArgExtreme._axis(node, graph),), lanes)
        if folding is None or folding.l2b_move is not None:
            return None
        apart = lanes == 4 and folding.bits[Level.W] | folding.copies[Level.W] != 3
        return None if apart else folding

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        return [rows_layout(graph.values[node.inputs[0]], (self._axis(node, graph),)).layout]

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        axis, keep = self._axis(node, graph), bool(node.attrs.get("keepdims", 1))
        others = [n for n in range(len(graph.values[node.inputs[0]].shape)) if n != axis]
        return [SliceAxis({0: n}, {0: n if keep or n < axis else n - 1}) for n in others]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        where = f"{node.op_type} {node.outputs[0]!r}"
        if node.attrs.get("select_last_index", 0):
            raise UnsupportedOperator(f"{where}: select_last_index=1 has no emitter")
        known = KINDS[EXTREME[node.op_type]].ops
        if value.dtype not in known:
            raise UnsupportedOperator(
                f"{where}: element type {value.dtype} has no emitter, use {', '.join(map(str, known))}"
            )
        axis, rank = self._axis(node, graph), len(value.shape)
        for layout in (inputs[0], rows_layout(value, (axis,))):
            folding = self._folding(node, graph, layout.layout) if layout is not None else None
            if layout is None or folding is None:
                continue
            if layout.padded_shape[axis] - 1 > MOST[value.dtype.words_per_lw]:
                raise UnsupportedOperator(f"{where}: {value.shape[axis]} candidates exceed indices of {value.dtype}")
            result = keep_dims(folding.result, rank, (axis,)) if len(out.shape) == rank else folding.result
            return Assignment((layout,), (PadLayout(out.shape, result),))
        raise UnsupportedOperator(f"{where}: no layout of {value.shape} can be reduced along axis {axis}")

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        return {0: PadNeed(KINDS[EXTREME[node.op_type]].pad, (self._axis(node, graph),))}

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        value, out = ctx.graph.values[node.inputs[0]], ctx.graph.values[node.outputs[0]]
        assert value.layout is not None and out.layout is not None
        folding = self._folding(node, ctx.graph, value.layout.layout)
        assert folding is not None
        lanes, route = value.dtype.words_per_lw, Route.of(out.layout)
        source, target = ctx.stream(node.inputs[0]), ctx.stream(node.outputs[0])
        src = (source.lm, source.addr)
        index = axis_index(value, self._axis(node, ctx.graph))
        op = KINDS[EXTREME[node.op_type]].ops[value.dtype]
        job = ArgJob(
            best=FoldJob(op, folding, lanes, src, None, route),
            offers=FoldJob(OFFER[lanes], folding, lanes, src, None, route, bank=1),
            lm=target.lm,
            addr=target.addr,
            tile_index=tuple(index.addresses[lw] for lw in folding.tiles[0]),
            word_index=index.words if lanes > 1 else 2 * index.words,
            terms=index.terms,
        )
        emit_arg(asm, job)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        numbers = math_of(EXTREME[node.op_type], value.dtype).load(numbers_of(value, inputs[0]))
        find = np.argmax if node.op_type == "ArgMax" else np.argmin
        return [find(numbers, axis=self._axis(node, graph)).astype(np.uint32).reshape(out.shape)]


LAYERS: tuple[Layer, ...] = (ArgExtreme(),)
