"""Gemm (and MatMul by a constant matrix) in half precision; the weight and the bias are streamed from DRAM.

Layouts (rows = padded M / 64, k = padded K / 256, n = padded N / 16):

* x  ((8_L2B:1, 8_L1B:1, rows:1), (16_MAB:1, k:rows, 4_W:1, 4_PE:1))
* w  ((n:16k, 4:1, 4:4), (16_MAB:1, k:16, 4_W:1, 4_PE:1); B@[L1B,L2B]), axes swapped without transB
* b  ((n:2, 2:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B]) as Float
* y  N over the MABs where the consumer is a matrix product or N needs it: ((..rows..), (16_MAB:1, n/16:rows, 4_W:1,
4_PE:1)),
     else alike in all MABs: ((..rows..), (n:rows, 4_W:1, 4_PE:1); B@[MAB])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.gemm import GemmPlan, emit_gemm
from compiler.errors import UnsupportedOperator
from compiler.graph import Location, MNGraph, MNNode
from compiler.layers import halfmath
from compiler.layers.base import ZERO, Assignment, EmitContext, Layer, PadNeed, Raw, rows_axis, rows_per_l1b
from compiler.layout import Layout, Level, PadLayout


def _ceil(value: int, unit: int) -> int:
    return -(-value // unit)


def _trans_b(node: MNNode) -> bool:
    return bool(node.attrs.get("transB", 0))


def _sizes(node: MNNode, graph: MNGraph) -> tuple[int, int, int]:
    """(M, K, N) of the product; leading axes of x count as rows."""
    x, w = graph.values[node.inputs[0]], graph.values[node.inputs[1]]
    n = w.shape[0] if _trans_b(node) else w.shape[1]
    return int(np.prod(x.shape[:-1])), x.shape[-1], n


def x_layout(rows: int, depth: int) -> Layout:
    """Layout of the left operand."""
    per_l1b = rows_per_l1b(rows)
    k_tiles = max(1, _ceil(depth, 256))
    k_axis = [(16, Level.MAB, 1), (k_tiles, Level.ADDR, per_l1b), (4, Level.W, 1), (4, Level.PE, 1)]
    return Layout.build([rows_axis(rows), [d for d in k_axis if d[0] > 1]])


def gathered_layout(rows: int, outputs: int) -> Layout:
    """Layout of a result that all MABs hold."""
    per_l1b, tiles = rows_per_l1b(rows), _ceil(outputs, 16)
    n_axis = [(tiles, Level.ADDR, per_l1b), (4, Level.W, 1), (4, Level.PE, 1)]
    return Layout.build([rows_axis(rows), [d for d in n_axis if d[0] > 1]])


class Gemm(Layer):
    """y = x . w^T + b."""

    op_types: ClassVar[tuple[str, ...]] = ("Gemm", "MatMul")
    streamed: ClassVar[frozenset[int]] = frozenset({1, 2})
    first_in: ClassVar[Location | None] = Location.LM0

    def half_values(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.inputs[1], node.outputs[0])

    def single_values(self, node: MNNode) -> tuple[str, ...]:
        return tuple(node.inputs[2:3])

    def _check(self, node: MNNode, graph: MNGraph) -> None:
        x, w = graph.values[node.inputs[0]], graph.values[node.inputs[1]]
        if len(x.shape) != 2 or len(w.shape) != 2:
            raise UnsupportedOperator(
                f"{node.op_type} {node.outputs[0]!r}: operands must be matrices, got {x.shape} and {w.shape}"
            )
        if node.attrs.get("transA", 0):
            raise UnsupportedOperator(f"Gemm {node.outputs[0]!r}: transA=1 has no emitter; transpose the left operand")
        for name in ("alpha", "beta"):
            if float(node.attrs.get(name, 1.0)) != 1.0:
                raise UnsupportedOperator(f"Gemm {node.outputs[0]!r}: {name} must be 1, got {node.attrs[name]}")
        if len(node.inputs) > 2 and graph.values[node.inputs[2]].shape != (_sizes(node, graph)[2],):
            raise UnsupportedOperator(
                f"Gemm {node.outputs[0]!r}: the bias must have shape ({_sizes(node, graph)[2]},), got "
                f"{graph.values[node.inputs[2]].shape}"
            )

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        self._check(node, graph)
        rows, depth, _ = _sizes(node, graph)
        return [x_layout(rows, depth)] + [None] * (len(node.inputs) - 1)

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        self._check(node, graph)
        rows, depth, outputs = _sizes(node, graph)
        x, w = graph.values[node.inputs[0]], graph.values[node.inputs[1]]
        k_tiles = max(1, _ceil(depth, 256))
        spread = x_layout(rows, outputs)
        scatter = wishes[0] is not None and wishes[0].equivalent(spread)
        y = spread if scatter else gathered_layout(rows, outputs)
        tiles = self._n_tiles(outputs, scatter)
        n_axis = [(tiles, Level.ADDR, 16 * k_tiles), (4, Level.ADDR, 1), (4, Level.ADDR, 4)]
        k_axis = [(16, Level.MAB, 1), (k_tiles, Level.ADDR, 16), (4, Level.W, 1), (4, Level.PE, 1)]
        axes = [[d for d in n_axis if d[0] > 1], [d for d in k_axis if d[0] > 1]]
        layouts: list[PadLayout | None] = [
            PadLayout(x.shape, x_layout(rows, depth)),
            PadLayout(w.shape, Layout.build(axes if _trans_b(node) else axes[::-1])),
        ]
        if len(node.inputs) > 2:
            bias = [(tiles, Level.ADDR, 2), (2, Level.ADDR, 1), (2, Level.W, 1), (4, Level.PE, 1)]
            layouts.append(PadLayout((outputs,), Layout.build([[d for d in bias if d[0] > 1]])))
        return Assignment(tuple(layouts), (PadLayout(graph.values[node.outputs[0]].shape, y),))

    @staticmethod
    def _n_tiles(outputs: int, scatter: bool) -> int:
        return 16 * max(1, _ceil(outputs, 256)) if scatter else _ceil(outputs, 16)

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        needs = {0: PadNeed(ZERO, (1,)), 1: PadNeed(ZERO, (0, 1))}
        if len(node.inputs) > 2:
            needs[2] = PadNeed(ZERO, (0,))
        return needs

    def _plan(self, node: MNNode, graph: MNGraph) -> GemmPlan:
        rows, depth, outputs = _sizes(node, graph)
        y = graph.values[node.outputs[0]]
        assert y.layout is not None
        scatter = not y.layout.is_broadcast(Level.MAB)
        return GemmPlan(
            rows=rows_per_l1b(rows),
            k_tiles=max(1, _ceil(depth, 256)),
            n_tiles=self._n_tiles(outputs, scatter),
            x=0,
            xb=0,
            y=0,
            weight=0,
            bias=0 if len(node.inputs) > 2 else None,
            scatter=scatter,
        )

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        plan = self._plan(node, graph)
        x = graph.values[node.inputs[0]]
        assert x.layout is not None
        return {"m": plan.scratch_words, "n": 2 * x.layout.num_lw}

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        plan = replace(
            self._plan(node, ctx.graph),
            x=ctx.stream(node.inputs[0]).addr,
            xb=ctx.scratch["n"],
            y=ctx.stream(node.outputs[0]).addr,
            weight=ctx.dram(node.inputs[1]),
            bias=ctx.dram(node.inputs[2]) if len(node.inputs) > 2 else None,
            scratch=ctx.scratch.get("m", 0),
        )
        emit_gemm(asm, plan)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        weight = inputs[1] if _trans_b(node) else np.ascontiguousarray(inputs[1].T)
        bias = inputs[2].view(np.float32) if len(inputs) > 2 else None
        return [halfmath.gemm(inputs[0], weight, bias)]


LAYERS: tuple[Layer, ...] = (Gemm(),)
