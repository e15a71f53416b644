"""MNCoreRefillPadding: overwrite the padding of a value with a constant, in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from compiler.emit.asm import Asm
from compiler.emit.padding import AxisIndex, emit_refill
from compiler.graph import MNGraph, MNNode, MNType, MNValue, PadType
from compiler.graph.dtypes import fill_bits
from compiler.layers.base import DIRTY, ZERO, EmitContext, Layer, Raw
from compiler.layers.moves import Move
from compiler.layout import Level


def pad_element(kind: str, dtype: MNType) -> int:
    """Raw bits of the padding element of a kind."""
    return fill_bits(PadType(kind), dtype)


def axis_index(value: MNValue, axis: int) -> AxisIndex:
    """How the index along `axis` is made of levels, addresses and words."""
    assert value.layout is not None
    layout, words = value.layout, value.dtype.words_per_lw
    terms: list[tuple[str, int, int, int]] = []
    addresses, lanes = [0] * layout.num_lw, [0] * words
    for weight, sub in layout.layout.axes[axis].weighted():
        if sub.level is Level.ADDR:
            for a in range(layout.num_lw):
                addresses[a] += a // sub.stride % sub.extent * weight
        elif sub.level is Level.W:
            for w in range(words):
                lanes[w] += w // sub.stride % sub.extent * weight
        else:
            terms.append((str(sub.level), sub.stride, sub.extent, weight))
    return AxisIndex(layout.shape[axis], tuple(terms), tuple(addresses), tuple(lanes))


class RefillPadding(Move):
    """Attributes: `kind` (Zero, One, Inf, NegInf), `axes` whose padding counts.

    `extent`, if set, is where the elements of the one axis end that count, before the end of the shape: the last time
    slice holds rows that are none of the whole value's.
    """

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreRefillPadding",)
    alias: ClassVar[bool] = True
    in_place: ClassVar[bool] = True

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        layout = graph.values[node.inputs[0]].layout
        assert layout is not None
        padded = [d for d, (n, m) in enumerate(zip(layout.shape, layout.padded_shape, strict=True)) if n != m]
        return str(node.attrs["kind"]) if set(padded) <= set(node.attrs["axes"]) else DIRTY

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        value = ctx.graph.values[node.outputs[0]]
        bits = value.dtype.bits
        element = pad_element(str(node.attrs["kind"]), value.dtype)
        pad_lw = 0
        for _ in range(64 // bits):
            pad_lw = pad_lw << bits | element
        axes = [axis_index(value, axis) for axis in node.attrs["axes"]]
        if "extent" in node.attrs:
            axes = [replace(axis, extent=int(node.attrs["extent"])) for axis in axes]
        emit_refill(asm, ctx.stream(node.outputs[0]), pad_lw, axes)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        if "extent" not in node.attrs:
            return [inputs[0]]
        filled = inputs[0].copy()
        rest = (slice(None),) * node.attrs["axes"][0] + (slice(node.attrs["extent"], None),)
        filled[rest] = pad_element(str(node.attrs["kind"]), graph.values[node.outputs[0]].dtype)
        return [filled]


LAYERS: tuple[Layer, ...] = (RefillPadding(),)

__all__ = ["LAYERS", "ZERO", "axis_index", "pad_element"]
