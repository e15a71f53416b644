"""Relu on Half or Float, in whatever layout its input has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.elementwise import emit_relu
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType
from compiler.layers.base import Assignment, EmitContext, Layer, Raw
from compiler.layers.layouts import default_layout
from compiler.layout import Layout, PadLayout

PREC = {MNType.HALF: "h", MNType.FLOAT: "f"}


class Relu(Layer):
    """max(x, 0); negative inputs give -0, as the ALU's `relu` does (isa.md 11.5)."""

    op_types: ClassVar[tuple[str, ...]] = ("Relu",)

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.outputs[0])

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        return [outputs[0]]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value = graph.values[node.inputs[0]]
        if value.dtype not in PREC:
            raise UnsupportedOperator(
                f"Relu {node.outputs[0]!r}: element type {value.dtype} has no emitter, use Half or Float"
            )
        layout = inputs[0] or default_layout(value)
        return Assignment((layout,), (layout,))

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        source = graph.values[node.inputs[0]]
        return "Zero" if source.pad_type == "Zero" else "Dirty"

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        dtype = ctx.graph.values[node.inputs[0]].dtype
        emit_relu(asm, PREC[dtype], ctx.stream(node.inputs[0]), ctx.stream(node.outputs[0]))

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        sign = inputs[0].dtype.type(1 << (8 * inputs[0].dtype.itemsize - 1))
        return [np.where(inputs[0] & sign != 0, sign, inputs[0])]


LAYERS: tuple[Layer, ...] = (Relu(),)
