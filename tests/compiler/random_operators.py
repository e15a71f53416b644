"""Makers of random nodes: arithmetic, comparisons, reductions, data movement, matrix products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from tests.compiler.models import TYPES
from tests.compiler.random_model import EXTENTS, Maker, Shape


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


COMMON: dict[str, Callable[[Maker], None]] = {
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
