"""ReduceSum, ReduceMax, ReduceMin, ReduceProd over any axes of a value in any complete layout.

The result keeps the layout of the axes that stay; the levels of the reduced axes hold copies of it.  Where L2Bs are
joined it is delivered in DRAM by the MV that joins them, else it stays in local memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from compiler.emit.asm import Asm
from compiler.emit.fold import FoldJob, FoldOp, Target, emit_fold
from compiler.emit.transfer import Route
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType, MNValue
from compiler.layers.base import (
    NEG_INF,
    ZERO,
    Assignment,
    EmitContext,
    HalfUse,
    Layer,
    PadNeed,
    Raw,
    SliceAxis,
    raw_float,
)
from compiler.layers.foldmath import DOUBLE_MATH, FLOAT_MATH, INT_MATH, FoldMath, grid_of, read_result, run_fold
from compiler.layers.halfmath import float_to_half
from compiler.layers.layouts import default_layout, rows_layout
from compiler.layout import Layout, Level, PadLayout
from compiler.layout.folding import Folding, fold, keep_dims


@dataclass(frozen=True)
class Kind:
    """An operator: name of its arithmetic, padding of its operand, how partial results are joined, its VSM by type."""

    math: str
    pad: str
    combine: str
    ops: dict[MNType, FoldOp]


KINDS = {
    "ReduceSum": Kind(
        "Sum",
        ZERO,
        "Add",
        {
            MNType.FLOAT: FoldOp("fvpassa", "fvadd", "$mauf", "ffadd"),
            MNType.DOUBLE: FoldOp("dvpassa", "dvadd", "$mauf", "dfadd"),
            MNType.INT: FoldOp("lpassa", "iadd", "$aluf", "iiadd"),
        },
    ),
    "ReduceMax": Kind(
        "Max",
        NEG_INF,
        "Max",
        {
            MNType.FLOAT: FoldOp("lpassa", "fmax", "$aluf", "fmax", normal="fvpassa"),
            MNType.DOUBLE: FoldOp("lpassa", "dmax", "$aluf", "dmax", normal="dvpassa"),
            MNType.HALF: FoldOp("lpassa", "hmax", "$aluf", "hmax", normal="hvpassar"),
            MNType.INT: FoldOp("lpassa", "imax", "$aluf", "fmax", twos=True),
        },
    ),
    "ReduceMin": Kind(
        "Min",
        "Inf",
        "Min",
        {
            MNType.FLOAT: FoldOp("lpassa", "fmin", "$aluf", "fmin", normal="fvpassa"),
            MNType.DOUBLE: FoldOp("lpassa", "dmin", "$aluf", "dmin", normal="dvpassa"),
            MNType.HALF: FoldOp("lpassa", "hmin", "$aluf", "hmin", normal="hvpassar"),
            MNType.INT: FoldOp("lpassa", "imin", "$aluf", "fmin", twos=True),
        },
    ),
    "ReduceProd": Kind("Prod", "One", "Mul", {MNType.FLOAT: FoldOp("fvpassa", "fvmul", "$mauf", "")}),
}
#: Arithmetic of the types whose raw bits are numbers as they stand; the others are reduced in single precision.
MATH = {MNType.INT: INT_MATH, MNType.DOUBLE: DOUBLE_MATH}
KINDS["ChainerCastReduceSum"] = KINDS["ReduceSum"]


def math_of(op_type: str, dtype: MNType) -> FoldMath:
    """The arithmetic of a reduction."""
    return MATH.get(dtype, FLOAT_MATH)[KINDS[op_type].math]


def numbers_of(value: MNValue, raw: Raw) -> NDArray[Any]:
    """The numbers that `math_of` works on behind raw bits."""
    return raw.view(value.dtype.host_dtype) if value.dtype in MATH else raw_float(value, raw)


def reduced_axes(node: MNNode, rank: int) -> tuple[int, ...]:
    """The axes of a reduction, ascending; all of them if none are named."""
    axes = node.attrs.get("axes") or ()
    if not axes and node.attrs.get("noop_with_empty_axes", 0):
        raise UnsupportedOperator(f"{node.op_type} {node.outputs[0]!r}: noop_with_empty_axes=1 with no axes")
    return tuple(sorted(int(axis) % rank for axis in axes)) if axes else tuple(range(rank))


class Reduce(Layer):
    """One reduction.  Sums and products of floating-point values are made in single or double precision."""

    op_types: ClassVar[tuple[str, ...]] = tuple(KINDS)

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.outputs[0]) if node.op_type in ("ReduceMax", "ReduceMin") else ()

    def half_use(self, node: MNNode) -> HalfUse:
        return HalfUse.EXACT if node.op_type in ("ReduceMax", "ReduceMin") else HalfUse.NONE

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        value = graph.values[node.inputs[0]]
        rest: list[Layout | None] = [None] * (len(node.inputs) - 1)
        if node.op_type in ("ReduceMax", "ReduceMin") and value.shape:
            return [rows_layout(value, reduced_axes(node, len(value.shape))).layout, *rest]
        return [None, *rest]

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        rank = len(graph.values[node.inputs[0]].shape)
        axes = reduced_axes(node, rank)
        keep = bool(node.attrs.get("keepdims", 1))
        whole, parts = [], []
        for axis in range(rank):
            if axis in axes:
                parts.append(SliceAxis({0: axis}, {}, KINDS[node.op_type].combine))
            else:
                gone = 0 if keep else sum(other < axis for other in axes)
                whole.append(SliceAxis({0: axis}, {0: axis - gone}))
        return [*whole, *parts]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        ops = KINDS[node.op_type].ops
        if value.dtype is not out.dtype or value.dtype not in ops:
            known = ", ".join(map(str, ops))
            raise UnsupportedOperator(
                f"{node.op_type} {node.outputs[0]!r}: cannot reduce {value.dtype} to {out.dtype}; use {known}"
            )
        rank = len(value.shape)
        axes = reduced_axes(node, rank)
        for layout in (inputs[0], default_layout(value), rows_layout(value, axes)):
            folding = fold(layout.layout, axes, value.dtype.words_per_lw) if layout is not None else None
            if layout is not None and folding is not None and _served(ops[value.dtype], folding):
                kept = axes if len(out.shape) == rank else ()
                result = keep_dims(folding.result, rank, kept)
                dense = keep_dims(folding.packed, rank, kept) if folding.packed is not None else None
                if dense is not None and wishes[0] is not None and dense.equivalent(wishes[0]):
                    result = dense
                rest = [None] * (len(node.inputs) - 1)
                return Assignment((layout, *rest), (PadLayout(out.shape, result),))
        raise UnsupportedOperator(f"{node.op_type} {node.outputs[0]!r}: no layout of {value.shape} can be reduced")

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        axes = reduced_axes(node, len(graph.values[node.inputs[0]].shape))
        return {0: PadNeed(KINDS[node.op_type].pad, axes)}

    def delivers_in_dram(self, node: MNNode, graph: MNGraph) -> bool:
        return self._folding(node, graph).l2b_move is not None

    @staticmethod
    def _folding(node: MNNode, graph: MNGraph) -> Folding:
        value = graph.values[node.inputs[0]]
        assert value.layout is not None
        folding = fold(value.layout.layout, reduced_axes(node, len(value.shape)), value.dtype.words_per_lw)
        assert folding is not None
        return folding

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        value, out = ctx.graph.values[node.inputs[0]], ctx.graph.values[node.outputs[0]]
        assert out.layout is not None
        folding, source = self._folding(node, ctx.graph), ctx.stream(node.inputs[0])
        if folding.l2b_move is None:
            place = ctx.stream(node.outputs[0])
            target = Target(place.lm, place.addr)
        else:
            target = Target("", ctx.dram(node.outputs[0]))
        op = KINDS[node.op_type].ops[value.dtype]
        lanes = value.dtype.words_per_lw
        packed = folding.packed is not None and not out.layout.is_broadcast(Level.W)
        route = Route.of(out.layout)
        emit_fold(asm, FoldJob(op, folding, lanes, (source.lm, source.addr), target, route, packed=packed))

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        assert value.layout is not None and out.layout is not None
        math = math_of(node.op_type, value.dtype)
        numbers = numbers_of(value, inputs[0])
        folding = self._folding(node, graph)
        grid = grid_of(numbers, value.layout, folding, value.dtype.words_per_lw, math.unit)
        kept = folding.result
        if len(out.shape) == len(value.shape):
            kept = keep_dims(kept, len(value.shape), reduced_axes(node, len(value.shape)))
        result = read_result(run_fold(math, folding, grid), PadLayout(out.shape, kept))
        if value.dtype is MNType.HALF:
            return [float_to_half(result)]
        return [np.ascontiguousarray(result).view(out.dtype.raw_dtype)]


def _served(op: FoldOp, folding: Folding) -> bool:
    """Whether all levels that are joined have a circuit for the operation, or need none."""
    if folding.bits[Level.L2B] and op.twos:
        return False
    circuits = (folding.bits[Level.L1B], folding.bits[Level.L2B], folding.bits[Level.MAB] in (3, 15))
    return bool(op.circuit) or not any(circuits)


LAYERS: tuple[Layer, ...] = (Reduce(),)
