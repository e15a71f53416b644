"""Equal on integers; the result is the integer 1 or 0 in the layout of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from compiler.emit.asm import Asm
from compiler.emit.elementwise import emit_equal_int
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType
from compiler.layers.base import Assignment, EmitContext, Layer, Raw
from compiler.layers.layouts import default_layout
from compiler.layout import Layout, PadLayout


class Equal(Layer):
    """a == b for tensors of one shape."""

    op_types: ClassVar[tuple[str, ...]] = ("Equal",)

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        return [None, None]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        a, b = (graph.values[name] for name in node.inputs)
        if a.shape != b.shape:
            raise UnsupportedOperator(
                f"Equal {node.outputs[0]!r}: shapes {a.shape} and {b.shape} differ; broadcasting has no emitter"
            )
        if a.dtype is not MNType.INT or b.dtype is not MNType.INT:
            raise UnsupportedOperator(
                f"Equal {node.outputs[0]!r}: element types {a.dtype} and {b.dtype} have no emitter, use integers"
            )
        layout = inputs[0] or inputs[1] or default_layout(a)
        return Assignment((layout, layout), (layout,))

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        a, b = (ctx.stream(name) for name in node.inputs)
        emit_equal_int(asm, "i", a, b, ctx.stream(node.outputs[0]))

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        return [(inputs[0] == inputs[1]).astype(inputs[0].dtype)]


LAYERS: tuple[Layer, ...] = (Equal(),)
