"""Cast between Half, Float and Int; integers and truth values are the same 32-bit integers on the chip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit import elementwise as ew
from compiler.emit.asm import Asm
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType, OnnxType
from compiler.layers import halfmath
from compiler.layers.base import Assignment, EmitContext, Layer, Raw
from compiler.layers.layouts import default_layout
from compiler.layout import Axis, Layout, Level, PadLayout, SubAxis

PAIRS = {
    (MNType.HALF, MNType.HALF),
    (MNType.FLOAT, MNType.FLOAT),
    (MNType.INT, MNType.INT),
    (MNType.HALF, MNType.FLOAT),
    (MNType.FLOAT, MNType.HALF),
    (MNType.INT, MNType.FLOAT),
    (MNType.FLOAT, MNType.INT),
}


def widened(layout: Layout) -> Layout:
    """Float layout of the same elements as a Half layout: two long words for each, the words of a pair next to
    each other.
    """
    if layout.is_broadcast(Level.W):
        return layout
    axes = []
    for axis in layout.axes:
        subs: list[SubAxis] = []
        for sub in axis:
            if sub.level is Level.ADDR:
                subs.append(SubAxis(sub.extent, Level.ADDR, 2 * sub.stride))
            elif sub.level is Level.W and sub.extent == 4:
                subs += [SubAxis(2, Level.ADDR, 1), SubAxis(2, Level.W, 1)]
            else:
                subs.append(sub)
        axes.append(Axis(tuple(subs)))
    return Layout(tuple(axes), layout.broadcast)


class Cast(Layer):
    """Element type conversion."""

    op_types: ClassVar[tuple[str, ...]] = ("Cast",)

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        kinds = (value.dtype, out.dtype)
        if kinds not in PAIRS or (out.onnx_dtype is OnnxType.BOOL and value.onnx_dtype is not OnnxType.BOOL):
            raise UnsupportedOperator(
                f"Cast {node.outputs[0]!r}: {value.onnx_dtype} ({value.dtype}) to {out.onnx_dtype} "
                f"({out.dtype}) has no emitter"
            )
        if kinds == (MNType.FLOAT, MNType.HALF):
            half = PadLayout(out.shape, wishes[0]) if wishes[0] is not None else default_layout(out)
            return Assignment((PadLayout(value.shape, widened(half.layout)),), (half,))
        layout = inputs[0] or default_layout(value)
        result = PadLayout(out.shape, widened(layout.layout)) if kinds == (MNType.HALF, MNType.FLOAT) else layout
        return Assignment((layout,), (result,))

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        value, out = ctx.graph.values[node.inputs[0]], ctx.graph.values[node.outputs[0]]
        assert value.layout is not None
        source, target = ctx.stream(node.inputs[0]), ctx.stream(node.outputs[0])
        match (value.dtype, out.dtype):
            case (MNType.HALF, MNType.FLOAT):
                ew.emit_half_to_float(asm, source, target, words_split=not value.layout.is_broadcast(Level.W))
            case (MNType.FLOAT, MNType.HALF):
                ew.emit_float_to_half(asm, source, target, words_split=not value.layout.is_broadcast(Level.W))
            case (MNType.INT, MNType.FLOAT):
                ew.emit_int_to_float(asm, source, target)
            case (MNType.FLOAT, MNType.INT):
                ew.emit_float_to_int(asm, source, target)
            case _:
                ew.emit_copy(asm, source, target)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        match (value.dtype, out.dtype):
            case (MNType.HALF, MNType.FLOAT):
                return [halfmath.half_to_float(inputs[0]).view(np.uint32)]
            case (MNType.FLOAT, MNType.HALF):
                return [halfmath.float_to_half(inputs[0].view(np.float32))]
            case (MNType.INT, MNType.FLOAT):
                return [inputs[0].view(np.int32).astype(np.float32).view(np.uint32)]
            case (MNType.FLOAT, MNType.INT):
                wide = np.trunc(inputs[0].view(np.float32).astype(np.float64))
                return [np.clip(wide, -(2.0**31), 2.0**31 - 1).astype(np.int64).astype(np.uint32)]
            case _:
                return [inputs[0]]


LAYERS: tuple[Layer, ...] = (Cast(),)
