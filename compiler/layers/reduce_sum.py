"""Sum of all elements to a scalar: ReduceSum and the fused ChainerCastReduceSum on integers and singles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.reduce import SumJob, emit_sum
from compiler.emit.transfer import Route
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType
from compiler.layers import halfmath
from compiler.layers.base import ZERO, Assignment, EmitContext, HalfUse, Layer, PadNeed, Raw
from compiler.layers.layouts import default_layout
from compiler.layout import Layout, Level, PadLayout


class FullSum(Layer):
    """Reduction over all axes; the result is delivered in DRAM by the last reduction stage, an MV."""

    op_types: ClassVar[tuple[str, ...]] = ("ReduceSum", "ChainerCastReduceSum")
    to_dram: ClassVar[bool] = True

    def half_use(self, node: MNNode) -> HalfUse:
        return HalfUse.NONE

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        if int(np.prod(out.shape, dtype=int)) != 1:
            raise UnsupportedOperator(
                f"{node.op_type} {node.outputs[0]!r}: only sums over all axes have an emitter, got "
                f"{value.shape} -> {out.shape}"
            )
        if value.dtype is not out.dtype or value.dtype not in (MNType.INT, MNType.FLOAT):
            raise UnsupportedOperator(
                f"{node.op_type} {node.outputs[0]!r}: cannot sum {value.dtype} to {out.dtype}; use Int or Float"
            )
        layout = inputs[0] or default_layout(value)
        scalar = Layout.build([[] for _ in out.shape])
        return Assignment((layout, *([None] * (len(node.inputs) - 1))), (PadLayout(out.shape, scalar),))

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        return {0: PadNeed(ZERO, tuple(range(len(graph.values[node.inputs[0]].shape))))}

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        value = ctx.graph.values[node.inputs[0]]
        assert value.layout is not None
        job = SumJob(
            source=ctx.stream(node.inputs[0]),
            addresses=tuple(np.unique(value.layout.index_arrays().addr).tolist()),
            route=Route.of(value.layout),
            word_split=not value.layout.is_broadcast(Level.W),
            integer=value.dtype is MNType.INT,
            dram=ctx.dram(node.outputs[0]),
        )
        emit_sum(asm, job)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        if value.dtype is MNType.INT:
            return [inputs[0].sum(dtype=np.uint32).reshape(out.shape)]
        assert value.layout is not None
        return [halfmath.full_sum(inputs[0].view(np.float32), value.layout).view(np.uint32).reshape(out.shape)]


LAYERS: tuple[Layer, ...] = (FullSum(),)
