"""Gemm (and MatMul by a constant matrix) in half precision; the weight and the bias are streamed from DRAM.

Serves the products that the planner marks with the attribute `banks` (`compiler.plan.strategy`); all others are
`compiler.layers.gemm`.

Ways to spread a product over the L2Bs, chosen by the planner (attribute `banks`):

* empty: rows over all L2Bs and L1Bs, the weight goes to every L2B.
* "N": rows over the four groups; the two banks of a group hold the same rows and compute different outputs, so each
  bank needs half of the weight.
* "K": rows over the groups; the banks hold different parts of K (as a product with "N" leaves them), and their partial
  sums are added on the way to DRAM.
* "gN", "gK": the same with rows over the two banks and outputs or parts of K over the four groups, so that each L2B
  needs a quarter of the weight, for twice the rows.

With the attribute `ahead` the first part of the weight is fetched before the left operand.

See `compiler.layers.gemm_layouts` for the layouts and `compiler.emit.gemm` for the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.gemm import GemmPlan, emit_gemm
from compiler.emit.weights import DramSource
from compiler.graph import Location, MNGraph, MNNode
from compiler.layers import gemm_layouts as gl
from compiler.layers import halfmath
from compiler.layers.base import ZERO, Assignment, EmitContext, Layer, PadNeed, Raw, SliceAxis
from compiler.layout import Layout, Level, PadLayout
from compiler.layout.deal import DEALT_MABS
from compiler.layout.l2b import l2b_use


def _trans_b(node: MNNode) -> bool:
    return bool(node.attrs.get("transB", 0))


def banks(node: MNNode) -> str:
    """The way the product uses the L2Bs: "", "N", "K", "gN" or "gK"."""
    return str(node.attrs.get("banks", ""))


def sizes(node: MNNode, graph: MNGraph) -> tuple[int, int, int]:
    """(M, K, N) of the product."""
    x, w = graph.values[node.inputs[0]], graph.values[node.inputs[1]]
    n = w.shape[0] if _trans_b(node) else w.shape[1]
    return int(np.prod(x.shape[:-1])), x.shape[-1], n


class StreamedGemm(Layer):
    """y = x . w^T + b."""

    op_types: ClassVar[tuple[str, ...]] = ()
    streamed: ClassVar[frozenset[int]] = frozenset({1, 2})
    first_in: ClassVar[Location | None] = Location.LM0

    def half_values(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.inputs[1], node.outputs[0])

    def single_values(self, node: MNNode) -> tuple[str, ...]:
        return tuple(node.inputs[2:3])

    def delivers_in_dram(self, node: MNNode, graph: MNGraph) -> bool:
        return banks(node).endswith("K")

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        rows, depth, _ = sizes(node, graph)
        return [gl.operand(rows, depth, banks(node))] + [None] * (len(node.inputs) - 1)

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        rows, depth, outputs = sizes(node, graph)
        x, w = graph.values[node.inputs[0]], graph.values[node.inputs[1]]
        form = gl.forms(rows, depth, outputs, banks(node), wishes[0])
        weight = form.weight if _trans_b(node) else form.weight.transpose([1, 0])
        layouts: list[PadLayout | None] = [PadLayout(x.shape, form.x), PadLayout(w.shape, weight)]
        if len(node.inputs) > 2:
            layouts.append(PadLayout((outputs,), form.bias))
        return Assignment(tuple(layouts), (PadLayout(graph.values[node.outputs[0]].shape, form.y),))

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        needs = {0: PadNeed(ZERO, (1,)), 1: PadNeed(ZERO, (0, 1))}
        if len(node.inputs) > 2:
            needs[2] = PadNeed(ZERO, (0,))
        return needs

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        """Rows; outputs, with the weight and the bias cut alike.  By banks or groups none: their parts belong together.
        """
        if banks(node):
            return []
        by_outputs = {1: 0 if _trans_b(node) else 1, **({2: 0} if len(node.inputs) > 2 else {})}
        return [SliceAxis({0: 0}, {0: 0}), SliceAxis(by_outputs, {0: 1})]

    def adjacent(self, node: MNNode) -> Sequence[int]:
        return (2, 1)[3 - len(node.inputs) :] if banks(node).startswith("g") else ()

    def fetches_ahead(self, node: MNNode) -> bool:
        return bool(node.attrs.get("ahead", 0))

    def _plan(self, node: MNNode, graph: MNGraph) -> GemmPlan:
        """Sizes from the layouts that were settled; places are filled in by `emit`."""
        x, w, y = (graph.values[name] for name in (*node.inputs[:2], node.outputs[0]))
        assert x.layout is not None and w.layout is not None and y.layout is not None
        outputs_axis = 0 if _trans_b(node) else 1
        weight_axes = w.layout.layout.axes
        scatter = not y.layout.is_broadcast(Level.MAB)
        mabs = y.layout.split_extent(Level.MAB)
        way, use = banks(node), l2b_use(w.layout.layout)
        n_tiles = weight_axes[outputs_axis].extent // 16
        if way.endswith("N"):
            n_tiles //= gl.PARTS[way].extent
        k_digits = [sub for sub in weight_axes[1 - outputs_axis] if sub.level is Level.ADDR]
        return GemmPlan(
            rows=gl.rows_in_l1b(x.layout.layout),
            k_tiles=int(np.prod([sub.extent for sub in k_digits], dtype=int)),
            n_tiles=n_tiles,
            x=0,
            xb=0,
            y=0,
            weight=DramSource(0, use),
            bias=self._bias_source(node, graph),
            scatter=scatter,
            mabs=mabs if scatter else 16,
            ahead=self.fetches_ahead(node),
            add_by={"K": "mvr2", "gK": "mvr4"}.get(way, ""),
        )

    @staticmethod
    def _bias_source(node: MNNode, graph: MNGraph) -> DramSource | None:
        layout = graph.values[node.inputs[2]].layout if len(node.inputs) > 2 else None
        return None if layout is None else DramSource(0, l2b_use(layout.layout))

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        plan = self._plan(node, graph)
        x = graph.values[node.inputs[0]]
        assert x.layout is not None
        return {"m": plan.scratch_words, "n": 2 * x.layout.num_lw}

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        plan = self._plan(node, ctx.graph)
        target = ctx.dram(node.outputs[0]) if plan.add_by else ctx.stream(node.outputs[0]).addr
        bias = replace(plan.bias, addr=ctx.dram(node.inputs[2])) if plan.bias is not None else None
        plan = replace(
            plan,
            x=ctx.stream(node.inputs[0]).addr,
            xb=ctx.scratch["n"],
            y=target,
            weight=replace(plan.weight, addr=ctx.dram(node.inputs[1])),
            bias=bias,
            scratch=ctx.scratch.get("m", 0),
        )
        emit_gemm(asm, plan)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        weight = inputs[1] if _trans_b(node) else np.ascontiguousarray(inputs[1].T)
        bias = inputs[2].view(np.float32) if len(inputs) > 2 else None
        way = banks(node)
        if way.endswith("K"):
            parts = gl.PARTS[way].extent
            mabs, tiles = gl.split_k_tiles(sizes(node, graph)[1], parts)
            return [halfmath.gemm_split_k(inputs[0], weight, bias, (parts, mabs, tiles))]
        return [halfmath.gemm(inputs[0], weight, bias, DEALT_MABS if way == "gN" else range(16))]


STREAMED_GEMM = StreamedGemm()
