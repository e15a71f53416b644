"""Element-wise operators: one record each, one layer for all of them.

A record names the formula for every element type it has code for.  Operands are broadcast as in NumPy: one that is
smaller than the result takes the projection of the result's layout (`compiler.layout.project`); constants of one
element are immediates (attribute `scalars`: input position -> number, the input itself is left out).  Integers that
meet doubles fill both words of the doubles' long words.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from compiler.chain import CHAINS
from compiler.emit.asm import Asm
from compiler.emit.tape import Formula, Tape, Val
from compiler.emit.tape_binding import Place
from compiler.emit.tape_code import emit_tape
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType, MNValue, PadType, encode
from compiler.layers import divmod, trigonometric
from compiler.layers import formulas as f
from compiler.layers import transcendental as tr
from compiler.layers.base import DIRTY, ZERO, Assignment, EmitContext, HalfUse, Layer, Raw, SliceAxis
from compiler.layers.layouts import default_layout
from compiler.layers.tape_eval import evaluate_all
from compiler.layout import Layout, Level, PadLayout
from compiler.layout.project import project, source_lws
from compiler.switch.routes import direct

FLOAT, INT, HALF, DOUBLE = MNType.FLOAT, MNType.INT, MNType.HALF, MNType.DOUBLE
#: Stands for an optional operand that is not given.
ABSENT = -1
#: Factor of a word that makes it a long word of two alike.
TWICE = 0x1_0000_0001
#: What to do about an operator that doubles have no formula for.
OTHER_RULE = " (float_dtype=float instead of double)"
WORDS_OF_SINGLES = 2
#: Numbers that stand for all that a scalar may be, where it is asked whether zeros remain zeros.
SAMPLES = (0.0, 1.0, -1.0, 0.37, -2.6, math.inf, -math.inf)
WHOLE_SAMPLES = (0, 1, -1, 5, -3, 2**31 - 1, -(2**31))
MOST_SAMPLED = 4
PREC = {FLOAT: "f", INT: "f", HALF: "h", DOUBLE: "d"}


@dataclass(frozen=True)
class Operator:
    """A record.

    formulas: element type of the operands -> formula.  arity: number of operands, None for any.  boolean: the result
    is 1 or 0.  operand: position of the operand whose type chooses the formula.  half: what `mixed` may do with it.
    settings: keyword arguments of the formula from a node's attributes.
    """

    op_type: str
    formulas: Mapping[MNType, Formula]
    arity: int | None = 1
    boolean: bool = False
    operand: int = 0
    half: HalfUse = HalfUse.NONE
    settings: Callable[[MNNode], dict[str, Any]] = lambda node: {}


def _real(formula: Formula) -> dict[MNType, Formula]:
    return {FLOAT: formula, DOUBLE: formula}


def _any(formula: Formula) -> dict[MNType, Formula]:
    return {**_real(formula), HALF: formula}


def _compare(op_type: str, single: Formula, integer: Formula) -> Operator:
    return Operator(op_type, _real(single) | {INT: integer}, arity=2, boolean=True)


def _logic(op_type: str, formula: Formula, arity: int = 2) -> Operator:
    return Operator(op_type, {INT: formula}, arity=arity, boolean=True)


def _numbers(**defaults: float) -> Callable[[MNNode], dict[str, Any]]:
    return lambda node: {name: float(node.attrs.get(name, default)) for name, default in defaults.items()}


def _text(name: str, default: str) -> Callable[[MNNode], dict[str, Any]]:
    def read(node: MNNode) -> dict[str, Any]:
        value = node.attrs.get(name, default)
        return {name: value.decode() if isinstance(value, bytes) else value}

    return read


def _gelu(t: Tape, x: Val, approximate: str) -> Val:
    return tr.gelu_tanh(t, x) if approximate == "tanh" else tr.gelu(t, x)


OPERATORS: tuple[Operator, ...] = (
    Operator("Relu", _any(f.relu), half=HalfUse.EXACT),
    Operator("Add", _any(f.add) | {INT: f.add_int}, arity=2, half=HalfUse.ROUNDED),
    Operator("Sub", _any(f.sub) | {INT: f.sub_int}, arity=2, half=HalfUse.ROUNDED),
    Operator("Mul", _any(f.mul) | {INT: f.mul_int}, arity=2, half=HalfUse.ROUNDED),
    Operator("Neg", _any(f.negate) | {INT: f.negate_int}, half=HalfUse.EXACT),
    Operator("Abs", _any(f.absolute) | {INT: f.absolute_int}, half=HalfUse.EXACT),
    Operator("Max", _any(f.maximum) | {INT: f.maximum_int}, arity=None, half=HalfUse.EXACT),
    Operator("Min", _any(f.minimum) | {INT: f.minimum_int}, arity=None, half=HalfUse.EXACT),
    Operator("Div", _real(tr.divide) | {INT: divmod.divide_int}, arity=2),
    Operator("Mod", {FLOAT: divmod.remainder, INT: divmod.remainder_int}, arity=2, settings=_numbers(fmod=0)),
    Operator("Reciprocal", _real(tr.reciprocal)),
    Operator("Sqrt", _real(tr.square_root)),
    Operator("Rsqrt", _real(tr.reciprocal_root)),
    Operator("Exp", _real(tr.exponential)),
    Operator("Log", _real(tr.logarithm)),
    Operator("Sigmoid", _real(tr.sigmoid)),
    Operator("Sin", {FLOAT: trigonometric.sine}),
    Operator("Cos", {FLOAT: trigonometric.cosine}),
    Operator("Tanh", _real(tr.hyperbolic_tangent)),
    Operator("Erf", {FLOAT: tr.error_function}),
    Operator("Gelu", {FLOAT: _gelu}, settings=_text("approximate", "none")),
    Operator("Silu", _real(tr.silu)),
    Operator("Softplus", _real(tr.softplus)),
    Operator("Elu", _real(tr.elu), settings=_numbers(alpha=1.0)),
    Operator("Pow", _real(tr.power), arity=2),
    Operator("Clip", _any(f.clip) | {INT: f.clip_int}, arity=None, half=HalfUse.ROUNDED),
    Operator("LeakyRelu", _real(f.leaky_relu), settings=_numbers(alpha=0.01)),
    Operator("PRelu", _real(f.prelu), arity=2),
    Operator("HardSigmoid", _real(f.hard_sigmoid), settings=_numbers(alpha=0.2, beta=0.5)),
    Operator("HardSwish", _real(f.hard_swish)),
    Operator("Sum", _any(f.total), arity=None, half=HalfUse.ROUNDED),
    Operator("Sign", _real(f.sign) | {INT: f.sign_int}),
    Operator("Floor", _real(f.floor)),
    Operator("Ceil", _real(f.ceil)),
    Operator("Round", _real(f.round_even)),
    _compare("Equal", f.equal, f.equal_int),
    _compare("Less", f.less, f.less_int),
    _compare("LessOrEqual", f.at_most, f.at_most_int),
    _compare("Greater", f.greater, f.greater_int),
    _compare("GreaterOrEqual", f.at_least, f.at_least_int),
    _logic("And", f.both),
    _logic("Or", f.either),
    _logic("Xor", f.differ),
    _logic("Not", f.invert, arity=1),
    Operator("BitwiseAnd", {INT: f.both}, arity=2),
    Operator("BitwiseOr", {INT: f.either}, arity=2),
    Operator("BitwiseXor", {INT: f.differ}, arity=2),
    Operator("BitwiseNot", {INT: f.complement}),
    Operator("Where", _real(f.where) | {INT: f.where}, arity=3, operand=1),
)
RECORDS = {record.op_type: record for record in OPERATORS}
COMPARISONS = frozenset({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
#: Attribute of a comparison that gives this single (else 0) in place of a truth value.
TRUE = "true"


def scalar_inputs(node: MNNode) -> tuple[int, ...]:
    """Positions at which constants of one element may become immediates."""
    return tuple(range(len(node.inputs))) if node.op_type in RECORDS or node.op_type in CHAINS else ()


def scalars(node: MNNode) -> dict[int, Any]:
    """The immediates of a node by position."""
    return dict(node.attrs.get("scalars", {}))


@dataclass(frozen=True)
class Pass:
    """One pass over the elements of a node: a tape, and the names of what it reads and makes."""

    tape: Tape
    reads: tuple[str, ...]
    makes: tuple[str, ...]


class TapeLayer(Layer):
    """What all layers share whose elements are computed by tapes: one or several results of one shape."""

    lays_out_free_inputs: ClassVar[bool] = True

    @abstractmethod
    def kind(self, node: MNNode, graph: MNGraph) -> MNType:
        """The element type of the tape."""

    @abstractmethod
    def check(self, node: MNNode, graph: MNGraph) -> None:
        """Raise UnsupportedOperator for a node without code."""

    @abstractmethod
    def passes(self, node: MNNode, graph: MNGraph) -> list[Pass]:
        """What computes the node; later passes may read what earlier ones made."""

    def pass_on(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        out = graph.values[node.outputs[0]]
        for name, given in zip(node.inputs, inputs, strict=True):
            if name and given is not None:
                value = graph.values[name]
                if value.shape == out.shape and value.dtype.words_per_lw == out.dtype.words_per_lw:
                    return [given] * len(node.outputs)
        return [None] * len(node.outputs)

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        """What the result is wished to be; without a wish only operands that are broadcast get one, since a full one
        brings its layout along.
        """
        out = graph.values[node.outputs[0]]
        wish = next((layout for layout in outputs if layout is not None), None)
        wish = None if self.kind(node, graph).words_per_lw != out.dtype.words_per_lw else wish
        result = self._free_layout(node, graph) if wish is None else PadLayout(out.shape, wish)
        asked: list[Layout | None] = []
        for name in node.inputs:
            shape = graph.values[name].shape if name else out.shape
            asked.append(project(result, shape).layout if name and (wish or shape != out.shape) else None)
        return asked

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        self.check(node, graph)
        out = graph.values[node.outputs[0]]
        full = [layout for layout in inputs if layout is not None and layout.shape == out.shape]
        full += [PadLayout(out.shape, wish) for wish in wishes if wish is not None]
        if self.kind(node, graph) is DOUBLE:
            full = [layout for layout in full if layout.is_broadcast(Level.W)]
        result = full[0] if full else self._free_layout(node, graph)
        needed = tuple(
            _needed(result, graph.values[name], given) if name else None
            for name, given in zip(node.inputs, inputs, strict=True)
        )
        return Assignment(needed, (result,) * len(node.outputs))

    def _free_layout(self, node: MNNode, graph: MNGraph) -> PadLayout:
        """The layout of a result that nothing asks for otherwise."""
        out = graph.values[node.outputs[0]]
        return default_layout(replace(out, dtype=DOUBLE) if self.kind(node, graph) is DOUBLE else out)

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        """Zero where the operator keeps zeros, whatever its scalars are, and its operands hold them; else dirty."""
        return ZERO if self.unfilled(node, graph) == [] and self.keeps_zeros(node, graph) else DIRTY

    def unfilled(self, node: MNNode, graph: MNGraph) -> list[int]:
        """Positions of the operands, scalars aside, whose padding does not hold zeros where the result has padding."""
        out = graph.values[node.outputs[0]]
        return [
            position
            for position, name in enumerate(node.inputs)
            if name and not _is_scalar(graph.values[name])
            if graph.values[name].shape != out.shape or graph.values[name].pad_type != PadType.ZERO
        ]

    def keeps_zeros(self, node: MNNode, graph: MNGraph) -> bool:
        """Whether all results are zero where the operands are, for all of SAMPLES as scalars."""
        values = {name: graph.values[name] for name in node.used}
        varied = [name for name, value in values.items() if _is_scalar(value)]
        if len(varied) > MOST_SAMPLED or len(varied) == len(values):
            return False
        given = {}
        for name, value in values.items():
            samples = encode(np.array(SAMPLES if value.dtype.is_float else WHOLE_SAMPLES), value.dtype)
            axes = [1] * len(varied)
            if name in varied:
                axes[varied.index(name)] = len(samples)
            given[name] = samples.reshape(axes) if name in varied else np.zeros(axes, value.dtype.raw_dtype)
        return not any(made.any() for made in self._compute(node, graph, given))

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        out = graph.values[node.outputs[0]].shape
        found = []
        for axis in sorted(range(len(out)), key=lambda n: -out[n]):
            cut = {}
            for position, name in enumerate(node.inputs):
                own = axis - (len(out) - len(graph.values[name].shape)) if name else -1
                if own >= 0 and graph.values[name].shape[own] == out[axis]:
                    cut[position] = own
            if out[axis] > 1:
                found.append(SliceAxis(cut, dict.fromkeys(range(len(node.outputs)), axis)))
        return found

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        out = ctx.graph.values[node.outputs[0]]
        layout = out.layout
        assert layout is not None
        for each in self.passes(node, ctx.graph):
            operands = []
            for name in each.reads:
                stream, value = ctx.stream(name), ctx.graph.values[name]
                assert value.layout is not None
                words = _words(value.layout, project(layout, value.shape), value.dtype)
                operands.append(Place(stream.lm, stream.addr, source_lws(layout, value.shape), words))
            targets = [ctx.stream(name) for name in each.makes]
            results = [Place(target.lm, target.addr, tuple(range(target.num_lw))) for target in targets]
            emit_tape(asm, each.tape, operands, *results)

    def _compute(self, node: MNNode, graph: MNGraph, inputs: Mapping[str, Raw]) -> list[Raw]:
        known = dict(inputs)
        for each in self.passes(node, graph):
            made = evaluate_all(each.tape, [known[name] for name in each.reads])
            raw = graph.values[node.outputs[0]].dtype.raw_dtype
            known |= {name: result.astype(raw) for name, result in zip(each.makes, made, strict=True)}
        return [known[name] for name in node.outputs]

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        given = {name: raw for name, raw in zip(node.inputs, inputs, strict=True) if name}
        shape = graph.values[node.outputs[0]].shape
        return [np.broadcast_to(result, shape).copy() for result in self._compute(node, graph, given)]


class Elementwise(TapeLayer):
    """The layer of all records."""

    op_types: ClassVar[tuple[str, ...]] = tuple(RECORDS)

    def half_use(self, node: MNNode) -> HalfUse:
        return RECORDS[node.op_type].half

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        record = RECORDS[node.op_type]
        first = record.operand
        return tuple(node.used[first:] if first else node.used) + (() if record.boolean else (node.outputs[0],))

    def kind(self, node: MNNode, graph: MNGraph) -> MNType:
        record = RECORDS[node.op_type]
        names = [name for name in node.inputs[record.operand :] if name]
        return graph.values[names[0] if names else node.outputs[0]].dtype

    def check(self, node: MNNode, graph: MNGraph) -> None:
        record, kind = RECORDS[node.op_type], self.kind(node, graph)
        if record.arity not in (None, len(node.inputs)):
            raise UnsupportedOperator(
                f"{node.op_type} {node.outputs[0]!r}: takes {record.arity} operands, got {len(node.inputs)}"
            )
        if kind not in record.formulas:
            raise UnsupportedOperator(
                f"{node.op_type} {node.outputs[0]!r}: element type {kind} has no emitter, use "
                f"{' or '.join(str(known) for known in record.formulas)}{OTHER_RULE if kind is DOUBLE else ''}"
            )
        for name in node.inputs[record.operand :]:
            if name and graph.values[name].dtype is not kind:
                raise UnsupportedOperator(
                    f"{node.op_type} {node.outputs[0]!r}: operands of types {kind} and {graph.values[name].dtype}; "
                    "cast one of them"
                )

    def passes(self, node: MNNode, graph: MNGraph) -> list[Pass]:
        record, kind = RECORDS[node.op_type], self.kind(node, graph)
        numbers = scalars(node)
        patterns: list[int | None] = []
        for position in range(len(node.inputs)):
            of_kind = kind if position >= record.operand else INT
            if position in numbers:
                patterns.append(pattern(numbers[position], of_kind) * (TWICE if of_kind is not kind is DOUBLE else 1))
            else:
                patterns.append(None if node.inputs[position] else ABSENT)
        true = pattern(node.attrs[TRUE], FLOAT) if TRUE in node.attrs else None
        tape = _tape(node.op_type, kind, tuple(patterns), tuple(sorted(record.settings(node).items())), true)
        return [Pass(tape, tuple(node.used), tuple(node.outputs))]


def _is_scalar(value: MNValue) -> bool:
    return math.prod(value.shape) == 1


def _needed(result: PadLayout, value: MNValue, given: PadLayout | None) -> PadLayout:
    """The layout an operand must have: a smaller one may lie otherwise inside its PEs, the emitter reorders it."""
    wanted = project(result, value.shape)
    alike = given is None or value.shape == result.shape
    return wanted if given is None or alike or _words(given, wanted, value.dtype) is None else given


def _words(given: PadLayout, wanted: PadLayout, dtype: MNType) -> dict[int, tuple[int, int]] | None:
    """The words in a PE of which each long word of `wanted` consists; None where it lies so or not in that PE."""
    if dtype.words_per_lw != WORDS_OF_SINGLES or given.equivalent(wanted):
        return None
    plan = direct(given, wanted, WORDS_OF_SINGLES)
    if plan is None or plan.route != "local":
        return None
    found: dict[int, list[int]] = {lw: [0, 0] for lw in range(wanted.num_lw)}
    for (lw, word), (source, lane) in plan.local.items():
        found[lw][word] = 2 * source + lane
    return {lw: (words[0], words[1]) for lw, words in found.items()}


def pattern(number: Any, kind: MNType) -> int:
    """32 bits of an immediate: a half twice, else the element."""
    bits = int(encode(np.asarray(number), kind))
    return bits << 16 | bits if kind is HALF else bits


@cache
def _tape(
    op_type: str,
    kind: MNType,
    patterns: tuple[int | None, ...],
    settings: tuple[tuple[str, Any], ...],
    true: int | None,
) -> Tape:
    tape = Tape(PREC[kind], true)
    operands: list[Val | None] = [None if pattern == ABSENT else tape.operand(pattern) for pattern in patterns]
    tape.finish(RECORDS[op_type].formulas[kind](tape, *operands, **dict(settings)))
    return tape


LAYERS: tuple[Layer, ...] = (Elementwise(),)
