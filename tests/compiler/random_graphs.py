"""Random ONNX graphs of the operators the compiler has layers for, drawn by hypothesis.

`graphs()` draws a `Drawn`: a model of 3 to 12 operators with values of odd shapes, and feeds that keep it in range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from tests.compiler.models import TYPES

Shape = tuple[int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 64, 67)


@dataclass(frozen=True)
class Value:
    """A value of the graph: `kind` is "float", "int" or "bool"."""

    name: str
    kind: str
    shape: Shape


@dataclass
class Drawn:
    """A model with its inputs' data; printing it shows the operators."""

    model: onnx.ModelProto
    feeds: dict[str, NDArray[Any]]

    def __repr__(self) -> str:
        graph = self.model.graph
        shapes = {t.name: tuple(t.dims) for t in graph.initializer} | {n: d.shape for n, d in self.feeds.items()}
        lines = [
            f"{', '.join(n.output)} = {n.op_type}({', '.join(f'{i}{shapes.get(i, str())}' for i in n.input)}"
            f"{''.join(f', {a.name}={helper.get_attribute_value(a)}' for a in n.attribute)})"
            for n in graph.node
        ]
        return "\n".join(["", *lines, "-> " + ", ".join(o.name for o in graph.output)])


@dataclass
class Maker:
    """A graph under construction."""

    draw: Draw
    limit: int
    extents: tuple[int, ...] = EXTENTS
    values: list[Value] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    feeds: dict[str, NDArray[Any]] = field(default_factory=dict)
    inputs: dict[str, Value] = field(default_factory=dict)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.draw(st.integers(0, 2**32 - 1)))

    def shape(self, least_rank: int = 0, most_rank: int = 3) -> Shape:
        rank = self.draw(st.integers(least_rank, most_rank))
        while True:
            shape = tuple(self.draw(st.sampled_from(self.extents)) for _ in range(rank))
            if np.prod(shape, dtype=int) <= self.limit:
                return shape
            rank = max(least_rank, rank - 1)

    def input(self, kind: str, shape: Shape) -> Value:
        value = Value(f"x{len(self.inputs)}", kind, shape)
        rng = self.rng()
        data: NDArray[Any] = {
            "int": rng.integers(-5, 6, shape),
            "bool": rng.integers(0, 2, shape).astype(bool),
            "float": rng.standard_normal(shape).astype(np.float32),
        }[kind]
        self.feeds[value.name] = np.asarray(data)
        self.inputs[value.name] = value
        self.values.append(value)
        return value

    def constant(self, data: NDArray[Any]) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = data
        return name

    def node(self, op: str, inputs: list[str], kind: str, shape: Shape, **attributes: Any) -> Value:
        value = Value(f"v{len(self.nodes)}_{op}", kind, shape)
        self.nodes.append(helper.make_node(op, inputs, [value.name], name=value.name, **attributes))
        self.values.append(value)
        return value

    def pick(self, kind: str, *, least_rank: int = 0) -> Value:
        """A value of that kind; later ones are likelier, and a fresh input appears where there is none."""
        fitting = [v for v in self.values if v.kind == kind and len(v.shape) >= least_rank]
        if not fitting:
            return self.input(kind, self.shape(least_rank))
        return self.draw(st.sampled_from(fitting[-4:]))

    def partner(self, value: Value) -> str:
        """An operand that broadcasts against `value` without enlarging it."""
        same = [v.name for v in self.values if v.kind == value.kind and v.shape == value.shape]
        if same and self.draw(st.booleans()):
            return self.draw(st.sampled_from(same))
        shape = list(value.shape[self.draw(st.integers(0, len(value.shape))) :])
        for axis in range(len(shape)):
            if self.draw(st.integers(0, 3)) == 0:
                shape[axis] = 1
        rng = self.rng()
        if value.kind == "int":
            return self.constant(rng.integers(-4, 5, shape))
        return self.constant(np.asarray(rng.uniform(0.5, 2.0, shape) * rng.choice([-1, 1], shape), np.float32))

    def axis(self, value: Value) -> int:
        return self.draw(st.integers(0, len(value.shape) - 1))


def _unary(m: Maker) -> None:
    op = m.draw(st.sampled_from(["Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Exp", "Sqrt", "Reciprocal", "Floor"]))
    value = m.pick("float")
    if op in ("Sqrt", "Reciprocal"):
        value = m.node("Add", [m.node("Abs", [value.name], "float", value.shape).name, m.constant(np.float32(0.25))],
                       "float", value.shape)  # fmt: skip
    if op == "Exp":
        value = m.node("Tanh", [value.name], "float", value.shape)
    m.node(op, [value.name], "float", value.shape)


def _binary(m: Maker) -> None:
    kind = m.draw(st.sampled_from(["float", "float", "int"]))
    value = m.pick(kind)
    op = m.draw(st.sampled_from(["Add", "Sub", "Mul"] + (["Div", "Max", "Min"] if kind == "float" else [])))
    other = m.partner(value)
    if op == "Div" and other not in m.constants:
        other = m.constant(np.float32(1.5))
    m.node(op, [value.name, other], kind, value.shape)


def _compare(m: Maker) -> None:
    value = m.pick(m.draw(st.sampled_from(["float", "int"])))
    op = m.draw(st.sampled_from(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]))
    m.node(op, [value.name, m.partner(value)], "bool", value.shape)


def _where(m: Maker) -> None:
    condition = m.pick("bool")
    if m.draw(st.booleans()):
        m.node("Not", [condition.name], "bool", condition.shape)
    fitting = [v for v in m.values if v.kind == "float" and v.shape == condition.shape]
    if fitting:
        value = m.draw(st.sampled_from(fitting))
        m.node("Where", [condition.name, value.name, m.partner(value)], "float", value.shape)
    else:
        m.node("Cast", [condition.name], "float", condition.shape, to=TYPES["float"])


def _cast(m: Maker) -> None:
    value = m.pick("int")
    m.node("Cast", [value.name], "float", value.shape, to=TYPES["float"])


def _reduce(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    axes = sorted({m.axis(value) for _ in range(m.draw(st.integers(1, 2)))})
    keep = m.draw(st.booleans())
    op = m.draw(st.sampled_from(["ReduceSum", "ReduceMax", "ReduceMean", "ReduceMin"]))
    shape = tuple(1 if a in axes else e for a, e in enumerate(value.shape) if keep or a not in axes)
    m.node(op, [value.name, m.constant(np.array(axes))], "float", shape, keepdims=int(keep))


def _arg_max(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    axis = m.axis(value)
    shape = value.shape[:axis] + value.shape[axis + 1 :]
    m.node("ArgMax", [value.name], "int", shape, axis=axis, keepdims=0)


def _softmax(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    op = m.draw(st.sampled_from(["Softmax", "LogSoftmax"]))
    m.node(op, [value.name], "float", value.shape, axis=m.axis(value))


def _transpose(m: Maker) -> None:
    value = m.pick("float", least_rank=2)
    perm = m.draw(st.permutations(range(len(value.shape))))
    m.node("Transpose", [value.name], "float", tuple(value.shape[p] for p in perm), perm=list(perm))


def _reshape(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    shape: Shape = (int(np.prod(value.shape)),)
    if len(value.shape) > 1 and m.draw(st.booleans()):
        cut = m.draw(st.integers(1, len(value.shape) - 1))
        shape = (int(np.prod(value.shape[:cut])), int(np.prod(value.shape[cut:])))
    m.node("Reshape", [value.name, m.constant(np.array(shape))], "float", shape)


def _slice(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    axis = m.axis(value)
    start = m.draw(st.integers(0, value.shape[axis] - 1))
    stop = m.draw(st.integers(start + 1, value.shape[axis]))
    shape = (*value.shape[:axis], stop - start, *value.shape[axis + 1 :])
    m.node("Slice", [value.name, *(m.constant(np.array([n])) for n in (start, stop, axis))], "float", shape)


def _concat(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    axis = m.axis(value)
    extent = m.draw(st.sampled_from(EXTENTS[:8]))
    other = m.constant(m.rng().standard_normal((*value.shape[:axis], extent, *value.shape[axis + 1 :]))
                       .astype(np.float32))  # fmt: skip
    shape = (*value.shape[:axis], value.shape[axis] + extent, *value.shape[axis + 1 :])
    if np.prod(shape) <= m.limit:
        m.node("Concat", [value.name, other], "float", shape, axis=axis)


def _product(m: Maker) -> None:
    value = m.pick("float", least_rank=2)
    if len(value.shape) > 2:
        flat = (int(np.prod(value.shape[:-1])), value.shape[-1])
        value = m.node("Reshape", [value.name, m.constant(np.array(flat))], "float", flat)
    rows, depth = value.shape
    outputs = m.draw(st.sampled_from(EXTENTS))
    rng = m.rng()
    if m.draw(st.booleans()):
        weight = m.constant((rng.standard_normal((outputs, depth)) / np.sqrt(depth)).astype(np.float32))
        bias = [m.constant(rng.standard_normal(outputs).astype(np.float32))] if m.draw(st.booleans()) else []
        m.node("Gemm", [value.name, weight, *bias], "float", (rows, outputs), transB=1)
    elif m.draw(st.booleans()):
        weight = m.constant((rng.standard_normal((depth, outputs)) / np.sqrt(depth)).astype(np.float32))
        m.node("MatMul", [value.name, weight], "float", (rows, outputs))
    else:
        m.node("Gemm", [value.name, value.name], "float", (depth, depth), transA=1)


OPERATORS: dict[str, Callable[[Maker], None]] = {
    "unary": _unary,
    "binary": _binary,
    "compare": _compare,
    "where": _where,
    "cast": _cast,
    "reduce": _reduce,
    "arg_max": _arg_max,
    "softmax": _softmax,
    "transpose": _transpose,
    "reshape": _reshape,
    "slice": _slice,
    "concat": _concat,
    "product": _product,
}


@st.composite
def graphs(
    draw: Draw,
    limit: int = 4096,
    kinds: tuple[str, ...] = tuple(OPERATORS),
    extents: tuple[int, ...] = EXTENTS,
    most: int = 12,
) -> Drawn:
    """A graph of 3 to `most` operators named by `kinds`, whose values have about `limit` elements at most and inputs
    with axes of `extents`.
    """
    maker = Maker(draw, limit, extents)
    maker.input("float", maker.shape(1))
    if draw(st.booleans()):
        maker.input("int", maker.shape(1))
    count = draw(st.integers(3, most))
    while len(maker.nodes) < count:
        OPERATORS[draw(st.sampled_from(kinds))](maker)
    used = {name for node in maker.nodes for name in node.input}
    made = {name for node in maker.nodes for name in node.output}
    results = [v for v in maker.values if v.name in made and v.name not in used]
    graph = helper.make_graph(
        maker.nodes,
        "random",
        [helper.make_tensor_value_info(v.name, TYPES[v.kind], v.shape) for v in maker.inputs.values()],
        [helper.make_tensor_value_info(v.name, TYPES[v.kind], v.shape) for v in results],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in maker.constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return Drawn(model, maker.feeds)
