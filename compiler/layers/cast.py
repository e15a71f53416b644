"""Cast between Half, Float, Int and truth values, which are the integers 1 and 0, and between integers and Double.

Integers fill both words of the long word in which their double lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.elementwise import emit_float_to_half, emit_half_to_float
from compiler.emit.tape import Formula, Tape
from compiler.emit.tape_binding import Place
from compiler.emit.tape_code import emit_tape
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType, MNValue, OnnxType
from compiler.layers import formulas, halfmath
from compiler.layers.base import Assignment, EmitContext, HalfUse, Layer, Raw, SliceAxis
from compiler.layers.layouts import default_layout
from compiler.layers.tape_eval import evaluate
from compiler.layout import Layout, LayoutError, Level, PadLayout
from compiler.layout.words import narrow, upper_word_split, widen

HALF, FLOAT, INT, DOUBLE, TRUTH = MNType.HALF, MNType.FLOAT, MNType.INT, MNType.DOUBLE, OnnxType.BOOL
Kind = MNType | OnnxType

#: Conversions that keep the layout.
FORMULAS: Mapping[tuple[Kind, Kind], Formula] = {
    (INT, FLOAT): formulas.int_to_float,
    (TRUTH, FLOAT): formulas.truth_to_float,
    (FLOAT, INT): formulas.float_to_int,
    (FLOAT, TRUTH): formulas.float_to_truth,
    (INT, TRUTH): formulas.int_to_truth,
    (TRUTH, INT): formulas.copy,
    (INT, DOUBLE): formulas.int_to_double,
    (TRUTH, DOUBLE): formulas.truth_to_double,
    (DOUBLE, INT): formulas.double_to_int,
    (DOUBLE, TRUTH): formulas.float_to_truth,
    **{(kind, kind): formulas.copy for kind in (HALF, FLOAT, INT, DOUBLE, TRUTH)},
}


def _whole(kinds: tuple[Kind, Kind]) -> bool:
    """Whether the words of a long word must be alike: integers on one side, doubles on the other."""
    return DOUBLE in kinds and kinds[0] is not kinds[1]


def _kind(value: MNValue) -> Kind:
    return TRUTH if value.onnx_dtype is TRUTH else value.dtype


@cache
def _tape(kinds: tuple[Kind, Kind]) -> Tape:
    tape = Tape("h" if HALF in kinds else "d" if DOUBLE in kinds else "f")
    tape.finish(FORMULAS[kinds](tape, tape.input()))
    return tape


class Cast(Layer):
    """Element type conversion; Half and Float take layouts that `compiler.layout.words` turns into each other."""

    op_types: ClassVar[tuple[str, ...]] = ("Cast",)
    lays_out_free_inputs: ClassVar[bool] = True

    def half_use(self, node: MNNode) -> HalfUse:
        return HalfUse.NONE

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        shape = graph.values[node.outputs[0]].shape
        axes = sorted((n for n, extent in enumerate(shape) if extent > 1), key=lambda n: -shape[n])
        return [SliceAxis({0: axis}, {0: axis}) for axis in axes]

    @staticmethod
    def _kinds(node: MNNode, graph: MNGraph) -> tuple[Kind, Kind]:
        return _kind(graph.values[node.inputs[0]]), _kind(graph.values[node.outputs[0]])

    def pass_on(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        given, kinds = inputs[0], self._kinds(node, graph)
        try:
            if given is not None and kinds in ((HALF, FLOAT), (FLOAT, HALF)):
                given = widen(given) if kinds[0] is HALF else narrow(given)
        except LayoutError:
            given = None
        return [self._shared(given, kinds)]

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        wanted, kinds = outputs[0], self._kinds(node, graph)
        try:
            if wanted is not None and kinds == (FLOAT, HALF):
                wanted = widen(wanted)
            elif wanted is not None and kinds == (HALF, FLOAT):
                wanted = narrow(wanted)
        except LayoutError:
            wanted = None
        return [self._shared(wanted, kinds)]

    @staticmethod
    def _shared(layout: Layout | None, kinds: tuple[Kind, Kind]) -> Layout | None:
        """A wish that both sides can have."""
        return None if layout is not None and _whole(kinds) and not layout.is_broadcast(Level.W) else layout

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        kinds, given = self._kinds(node, graph), inputs[0]
        if kinds == (FLOAT, HALF):
            half = self._halves(out, given, wishes[0])
            return Assignment((PadLayout(value.shape, widen(half.layout)),), (half,))
        if kinds == (HALF, FLOAT):
            half = self._halves(value, None, given.layout if given else wishes[0] and narrow(wishes[0]))
            return Assignment((half,), (PadLayout(out.shape, widen(half.layout)),))
        if kinds not in FORMULAS:
            raise UnsupportedOperator(
                f"Cast {node.outputs[0]!r}: {value.onnx_dtype} ({value.dtype}) to {out.onnx_dtype} "
                f"({out.dtype}) has no emitter"
            )
        wish, known = self._shared(wishes[0], kinds), given
        if given is not None and self._shared(given.layout, kinds) is None:
            known = None
        free = default_layout(out if kinds[1] is DOUBLE else value)
        layout = known or (PadLayout(value.shape, wish) if wish is not None else free)
        return Assignment((layout,), (layout,))

    @staticmethod
    def _halves(value: MNValue, singles: PadLayout | None, wish: Layout | None) -> PadLayout:
        """The layout of the halves: that of packed singles, else the wish where it can be widened, else the default."""
        packed = narrow(singles.layout) if singles is not None else None
        if packed is not None and (upper_word_split(packed) or wish is None):
            return PadLayout(value.shape, packed)
        try:
            if wish is not None and widen(wish):
                return PadLayout(value.shape, wish)
        except LayoutError:
            pass
        return default_layout(value)

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        """Zeros and infinities are the same numbers in every type; integers have no infinity."""
        pad = graph.values[node.inputs[0]].pad_type or "Dirty"
        return pad if pad == "Zero" or self._kinds(node, graph) in ((HALF, FLOAT), (FLOAT, HALF)) else "Dirty"

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        value, out = ctx.graph.values[node.inputs[0]], ctx.graph.values[node.outputs[0]]
        assert value.layout is not None and out.layout is not None
        source, target = ctx.stream(node.inputs[0]), ctx.stream(node.outputs[0])
        kinds = self._kinds(node, ctx.graph)
        if kinds == (HALF, FLOAT):
            emit_half_to_float(asm, source, target, words_split=upper_word_split(value.layout.layout))
        elif kinds == (FLOAT, HALF):
            emit_float_to_half(asm, source, target, words_split=upper_word_split(out.layout.layout))
        else:
            lws = tuple(range(target.num_lw))
            emit_tape(asm, _tape(kinds), [Place(source.lm, source.addr, lws)], Place(target.lm, target.addr, lws))

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        kinds = self._kinds(node, graph)
        if kinds == (HALF, FLOAT):
            # It goes through the MAU, whose zeros are +0 (numerics.md 2.1).
            return [(halfmath.half_to_float(inputs[0]) + np.float32(0)).view(np.uint32)]
        if kinds == (FLOAT, HALF):
            return [halfmath.float_to_half(inputs[0].view(np.float32))]
        made = graph.values[node.outputs[0]].dtype.raw_dtype
        return [evaluate(_tape(kinds), [inputs[0]]).astype(made)]


LAYERS: tuple[Layer, ...] = (Cast(),)
