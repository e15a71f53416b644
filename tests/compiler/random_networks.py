"""Makers of what networks are built of: more functions, padding and windows, lookups, batched products, training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from tests.compiler.models import TYPES
from tests.compiler.random_model import EXTENTS, Maker, Shape, Value

SMALL = EXTENTS[:8]


def _function(m: Maker) -> None:
    op = m.draw(
        st.sampled_from(
            ["Erf", "Gelu", "Softplus", "Sign", "Round", "Ceil", "LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "Clip"]
        )
    )
    value = m.pick("float")
    bounds = [m.constant(np.float32(-0.5)), m.constant(np.float32(1.25))] if op == "Clip" else []
    m.node(op, [value.name, *bounds], "float", value.shape)


def _power(m: Maker) -> None:
    value = m.pick("float")
    positive = m.node("Abs", [value.name], "float", value.shape)
    shifted = m.node("Add", [positive.name, m.constant(np.float32(0.5))], "float", value.shape)
    if m.draw(st.booleans()):
        m.node("Log", [shifted.name], "float", value.shape)
    else:
        exponent = m.draw(st.sampled_from([0.5, 2.0, 3.0, -1.0]))
        m.node("Pow", [shifted.name, m.constant(np.float32(exponent))], "float", value.shape)


def _logic(m: Maker) -> None:
    value = m.pick("bool")
    same = [v.name for v in m.values if v.kind == "bool" and v.shape == value.shape]
    op = m.draw(st.sampled_from(["And", "Or", "Xor"]))
    m.node(op, [value.name, m.draw(st.sampled_from(same))], "bool", value.shape)


def _outer(m: Maker) -> None:
    """Two operands that enlarge each other."""
    value = m.pick("float", least_rank=1)
    extent = m.draw(st.sampled_from(SMALL))
    shape = (extent, *value.shape)
    if np.prod(shape) > m.limit:
        return
    left = m.input("float", (extent, *(1 for _ in value.shape)))
    m.node(m.draw(st.sampled_from(["Add", "Mul", "Max"])), [left.name, value.name], "float", shape)


def _more_reductions(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    axis = m.axis(value)
    op = m.draw(st.sampled_from(["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ArgMin"]))
    shape = tuple(1 if k == axis else e for k, e in enumerate(value.shape))
    if op == "ArgMin":
        m.node(op, [value.name], "int", shape, axis=axis, keepdims=1)
    else:
        m.node(op, [value.name, m.constant(np.array([axis]))], "float", shape, keepdims=1)


def _pad(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    rank = len(value.shape)
    pads = [m.draw(st.integers(0, 3)) for _ in range(2 * rank)]
    shape = tuple(pads[k] + e + pads[rank + k] for k, e in enumerate(value.shape))
    if np.prod(shape) <= 2 * m.limit:
        m.node("Pad", [value.name, m.constant(np.array(pads)), m.constant(np.float32(-1.5))], "float", shape)


def _repeat(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    axis, times = m.axis(value), m.draw(st.sampled_from([2, 3]))
    shape = tuple(times * e if k == axis else e for k, e in enumerate(value.shape))
    if np.prod(shape) > 2 * m.limit:
        return
    if value.shape[axis] == 1 and m.draw(st.booleans()):
        m.node("Expand", [value.name, m.constant(np.array(shape))], "float", shape)
    else:
        repeats = [times if k == axis else 1 for k in range(len(shape))]
        m.node("Tile", [value.name, m.constant(np.array(repeats))], "float", shape)


def _lookup(m: Maker) -> None:
    value = m.pick("float", least_rank=1)
    axis = m.axis(value)
    index = tuple(m.draw(st.sampled_from(SMALL)) for _ in range(m.draw(st.integers(0, 2))))
    shape = value.shape[:axis] + index + value.shape[axis + 1 :]
    if np.prod(shape) > 2 * m.limit:
        return
    rows = m.rng().integers(0, value.shape[axis], index)
    if m.draw(st.booleans()):
        name = m.constant(rows)
    else:
        axis, shape = 0, index + value.shape[1:]
        indices = m.input("int", index)
        m.feeds[indices.name] = np.asarray(m.rng().integers(0, value.shape[0], index))
        name = indices.name
    m.node("Gather", [value.name, name], "float", shape, axis=axis)


def _batched(m: Maker) -> None:
    batch, rows, depth, columns = (m.draw(st.sampled_from(SMALL)) for _ in range(4))
    left = m.input("float", (batch, rows, depth))
    right = m.input("float", (batch, depth, columns) if m.draw(st.booleans()) else (depth, columns))
    m.node("MatMul", [left.name, right.name], "float", (batch, rows, columns))


def _images(m: Maker) -> Value:
    batch, channels = m.draw(st.integers(1, 3)), m.draw(st.integers(1, 4))
    sides = m.draw(st.tuples(st.integers(3, 9), st.integers(3, 9)))
    return m.input("float", (batch, channels, *sides))


def _convolution(m: Maker) -> None:
    image = _images(m)
    kernel, stride, pad = m.draw(st.integers(1, 3)), m.draw(st.integers(1, 2)), m.draw(st.integers(0, 1))
    dilation = m.draw(st.integers(1, 2)) if min(image.shape[2:]) + 2 * pad > 2 * (kernel - 1) else 1
    group = m.draw(st.sampled_from([1, image.shape[1]]))
    out = group * m.draw(st.integers(1, 5))
    span = dilation * (kernel - 1)
    sides = tuple((e + 2 * pad - span - 1) // stride + 1 for e in image.shape[2:])
    inside = image.shape[1] // group
    depth = inside * kernel * kernel
    weight = m.constant(m.rng().standard_normal((out, inside, kernel, kernel)).astype(np.float32) / depth**0.5)
    bias = [m.constant(m.rng().standard_normal(out).astype(np.float32))] if m.draw(st.booleans()) else []
    m.node("Conv", [image.name, weight, *bias], "float", (image.shape[0], out, *sides), kernel_shape=[kernel] * 2,
           strides=[stride] * 2, pads=[pad] * 4, dilations=[dilation] * 2, group=group)  # fmt: skip


def _transposed_convolution(m: Maker) -> None:
    image = _images(m)
    out, kernel, stride = m.draw(st.integers(1, 4)), m.draw(st.integers(1, 3)), m.draw(st.integers(1, 2))
    rest = m.draw(st.integers(0, stride - 1))
    sides = tuple((e - 1) * stride + kernel + rest for e in image.shape[2:])
    shape = (image.shape[1], out, kernel, kernel)
    weight = m.constant(m.rng().standard_normal(shape).astype(np.float32) / image.shape[1] ** 0.5)
    m.node("ConvTranspose", [image.name, weight], "float", (image.shape[0], out, *sides), kernel_shape=[kernel] * 2,
           strides=[stride] * 2, output_padding=[rest] * 2)  # fmt: skip


def _pool(m: Maker) -> None:
    image = _images(m)
    kernel, stride = m.draw(st.integers(1, 3)), m.draw(st.integers(1, 2))
    shape: Shape = (*image.shape[:2], *((e - kernel) // stride + 1 for e in image.shape[2:]))
    op = m.draw(st.sampled_from(["MaxPool", "AveragePool"]))
    m.node(op, [image.name], "float", shape, kernel_shape=[kernel] * 2, strides=[stride] * 2)


def _training(m: Maker) -> None:
    """A dense layer, the gradients of its parameters from those of its result, and their update."""
    rows, depth, columns = (m.draw(st.sampled_from(EXTENTS)) for _ in range(3))
    x, weight, bias = (m.input("float", shape) for shape in ((rows, depth), (columns, depth), (columns,)))
    out = m.node("Gemm", [x.name, weight.name, bias.name], "float", (rows, columns), transB=1)
    active = m.node("Relu", [out.name], "float", out.shape)
    passed = m.node("Greater", [out.name, m.constant(np.float32(0))], "bool", out.shape)
    scaled = m.node("Mul", [active.name, m.constant(np.float32(1 / rows))], "float", out.shape)
    grad = m.node("Where", [passed.name, scaled.name, m.constant(np.float32(0))], "float", out.shape)
    for parameter, change in (
        (weight, m.node("Gemm", [grad.name, x.name], "float", weight.shape, transA=1)),
        (bias, m.node("ReduceSum", [grad.name, m.constant(np.array([0]))], "float", bias.shape, keepdims=0)),
    ):
        step = m.node("Mul", [change.name, m.constant(np.float32(0.1))], "float", change.shape)
        m.node("Sub", [parameter.name, step.name], "float", parameter.shape)
    if m.draw(st.booleans()):
        m.node("MatMul", [grad.name, weight.name], "float", x.shape)


def _to_int(m: Maker) -> None:
    value = m.pick("float")
    m.node("Cast", [value.name], "int", value.shape, to=TYPES["int"])


NETWORKS: dict[str, Callable[[Maker], None]] = {
    "function": _function,
    "power": _power,
    "logic": _logic,
    "outer": _outer,
    "more_reductions": _more_reductions,
    "pad": _pad,
    "repeat": _repeat,
    "lookup": _lookup,
    "batched": _batched,
    "convolution": _convolution,
    "transposed convolution": _transposed_convolution,
    "pool": _pool,
    "training": _training,
    "to_int": _to_int,
}
