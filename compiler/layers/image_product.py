"""Products of windows with filters: MNCoreConvolve, and the gradient of a filter, MNCoreConvolveGrad.

MNCoreConvolve: windows (batch, *places, K), filter (outputs, K), or (K, outputs) with attribute `columns`, and maybe a
bias give (batch, *places, outputs).
MNCoreConvolveGrad: (batch, *places, M) and (batch, *places, N), one of them windows, the other gradients, give (M, N),
a sum over all places.
Windows and images lie as `image_layout` says: each L1B has its own images, each MAB some of their rows, and all hold
the whole filter.  So a convolution needs no sum over levels, and a filter's gradient one over all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.product import Places, emit_product
from compiler.graph import Location, MNGraph, MNNode
from compiler.layers import productmath
from compiler.layers.base import Assignment, EmitContext, Raw, SliceAxis, rows_per_l1b
from compiler.layers.gemm import KIND_OF, Gemm, add_levels, by_words, job_of, kind_of, parts, refuse
from compiler.layers.image_layouts import MABS, image_layout, split_axis
from compiler.layers.product_spread import Role, Shape, Spread, bias_layout, tensor_layout
from compiler.layout import Layout, PadLayout

L1BS = 64


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


class Convolve(Gemm):
    """Rows of windows times the rows of a filter."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreConvolve",)
    #: Windows of images in LM0 come to LM1.
    first_in: ClassVar[Location | None] = Location.LM1

    def variant(self, node: MNNode) -> Convolve:
        return self

    def shape_of(self, node: MNNode, graph: MNGraph) -> Shape:
        windows, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        self._check_types(node, graph)
        places = tuple(Role("M", extent) for extent in windows.shape[:-1])
        outputs, depth = Role("N", out.shape[-1]), Role("K", windows.shape[-1])
        right = (depth, outputs) if self._columns(node) else (outputs, depth)
        tile = KIND_OF[windows.dtype].tile
        return Shape((*places, depth), right, (*places, outputs), tile, held=(("M", 1 << 30),))

    @staticmethod
    def _columns(node: MNNode) -> bool:
        return bool(node.attrs.get("columns", 0))

    @staticmethod
    def _check_types(node: MNNode, graph: MNGraph) -> None:
        one, other = (graph.values[name].dtype for name in node.inputs[:2])
        if one is not other or one not in KIND_OF:
            raise refuse(node, f"operands must be Half, Float or Double alike, got {one} and {other}")

    def _layouts(self, node: MNNode, graph: MNGraph) -> tuple[list[PadLayout], PadLayout]:
        """Layouts of the inputs and of the result."""
        shape, windows, out = self.shape_of(node, graph), graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        spread = Spread("----")
        inputs = [image_layout(windows.shape, windows.dtype, -1), tensor_layout(shape, spread, shape.right)]
        inputs += [bias_layout(shape, spread)] * (len(node.inputs) - 2)
        return inputs, image_layout(out.shape, windows.dtype, -1)

    def _letters(self, node: MNNode, graph: MNGraph) -> str:
        return "----"

    def lead(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        return [layout.layout for layout in self._layouts(node, graph)[0]]

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        return self.lead(node, graph, [])

    def pass_on(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        return [self._layouts(node, graph)[1].layout]

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        bias = {2: 0} if len(node.inputs) > 2 else {}
        last = len(graph.values[node.outputs[0]].shape) - 1
        return (SliceAxis({0: 0}, {0: 0}), SliceAxis({1: int(self._columns(node)), **bias}, {0: last}))

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        node.attrs["spread"] = self._letters(node, graph)
        taken, made = self._layouts(node, graph)
        return Assignment(tuple(taken), (made,))

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        layout = graph.values[node.inputs[0]].layout
        assert layout is not None
        return {"m": 2 * layout.num_lw}

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        left, right, *bias = (ctx.stream(name) for name in node.inputs)
        at = Places(left, ctx.scratch["m"], right, ctx.stream(node.outputs[0]), bias[0] if bias else None)
        emit_product(asm, job_of(node, ctx.graph, self.shape_of(node, ctx.graph)), at)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        shape, kind = self.shape_of(node, graph), kind_of(node, graph)
        depth = _up(shape.left[-1].extent, shape.tile)
        rows = inputs[1].T if self._columns(node) else inputs[1]
        left, right = (parts(raw, 1, depth, shape.tile)[0] for raw in (inputs[0], rows))
        if kind.parts > 1:
            left, right = (by_words(tiles, plain=False) for tiles in (left, right))
        bias = inputs[2].view(graph.values[node.inputs[2]].dtype.host_dtype) if len(inputs) > 2 else None
        return [productmath.narrow(productmath.accumulate(left, right, bias, kind.letter), kind.letter)]


class ConvolveGrad(Convolve):
    """One operand, transposed, times the other, transposed."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreConvolveGrad",)
    first_in: ClassVar[Location | None] = Location.LM0

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        return Gemm.scratch(self, node, graph)

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        Gemm.emit(self, node, ctx, asm)

    def shape_of(self, node: MNNode, graph: MNGraph) -> Shape:
        left, right = (graph.values[name] for name in node.inputs[:2])
        self._check_types(node, graph)
        places = tuple(Role("K", extent) for extent in left.shape[:-1])
        rows, columns = Role("M", left.shape[-1]), Role("N", right.shape[-1])
        held = (("K", math.prod(self._local(left.shape))),)
        return Shape((*places, rows), (*places, columns), (rows, columns), KIND_OF[left.dtype].tile, held=held)

    @staticmethod
    def _local(shape: tuple[int, ...]) -> list[int]:
        """Extents of batch and places that one MAB holds."""
        local = [rows_per_l1b(shape[0]), *shape[1:-1]]
        split = split_axis(shape, -1)
        if split is not None:
            local[split] = -(-shape[split] // MABS)
        return local

    def _letters(self, node: MNNode, graph: MNGraph) -> str:
        return "KKKK" if split_axis(graph.values[node.inputs[0]].shape, -1) is not None else "KKK-"

    def _layouts(self, node: MNNode, graph: MNGraph) -> tuple[list[PadLayout], PadLayout]:
        values = [graph.values[name] for name in node.inputs]
        shape = self.shape_of(node, graph)
        result = tensor_layout(shape, Spread(self._letters(node, graph)), shape.result)
        return [image_layout(value.shape, value.dtype, -1) for value in values], result

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        last = len(graph.values[node.inputs[0]].shape) - 1
        return (SliceAxis({0: last}, {0: 0}), SliceAxis({1: last}, {0: 1}), SliceAxis({0: 0, 1: 0}, {}, "Add"))

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        kind, spread = kind_of(node, graph), Spread(self._letters(node, graph))
        local = self._local(inputs[0].shape)
        left, right = (self._by_place(raw, local, kind.tile) for raw in inputs)
        if kind.parts > 1:
            ragged = math.prod(local) % kind.tile != 0
            left, right = (by_words(tiles, plain=ragged) for tiles in (left, right))
        accs = productmath.accumulate(left, right, None, kind.letter)
        return [add_levels(list(accs), spread, kind.letter)]

    @staticmethod
    def _by_place(raw: Raw, local: Sequence[int], tile: int) -> Raw:
        """(places of the chip, rows, tiles, tile) of an operand (batch, *places, rows)."""
        split = split_axis(raw.shape, -1)
        counts = [L1BS, *(MABS if axis == split else 1 for axis in range(1, raw.ndim - 1))]
        widths = [(0, n * m - extent) for n, m, extent in zip(counts, local, raw.shape, strict=False)]
        padded = np.pad(raw, [*widths, (0, 0)])
        cut = padded.reshape(*(v for pair in zip(counts, local, strict=True) for v in pair), raw.shape[-1])
        rank = len(local)
        order = [*range(0, 2 * rank, 2), 2 * rank, *range(1, 2 * rank, 2)]
        flat = cut.transpose(order).reshape(math.prod(counts), raw.shape[-1], math.prod(local))
        flat = np.pad(flat, [(0, 0), (0, 0), (0, -flat.shape[-1] % tile)])
        return flat.reshape(*flat.shape[:2], -1, tile)


LAYERS = (Convolve(), ConvolveGrad())
