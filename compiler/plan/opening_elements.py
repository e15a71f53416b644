"""Functions of elements and rearrangements made of others."""

from __future__ import annotations

import math

import numpy as np

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, OnnxType
from compiler.pfvm.operators.resampling import nearest_places
from compiler.plan.opener import Opener

_FLOAT, _INT, _BOOL = OnnxType.FLOAT32, OnnxType.INT64, OnnxType.BOOL


def is_nan(o: Opener) -> None:
    """The chip has no such number, so that every element equals itself."""
    x = o.node.inputs[0]
    o.finish(o.like("Not", o.like("Equal", x, x, kind=_BOOL), kind=_BOOL))


def is_infinite(o: Opener) -> None:
    """Equal to an infinity, by default of either sign."""
    x = o.node.inputs[0]
    positive, negative = (bool(o.node.attrs.get(f"detect_{sign}", 1)) for sign in ("positive", "negative"))
    size = o.like("Abs", x) if positive and negative else x if positive else o.like("Neg", x)
    found = o.like("Equal", size, o.constant(math.inf, _FLOAT), kind=_BOOL)
    o.finish(found if positive or negative else o.like("And", found, o.constant(False, _BOOL), kind=_BOOL))


def mish(o: Opener) -> None:
    """x tanh(softplus(x))."""
    x = o.node.inputs[0]
    o.finish(o.like("Mul", x, o.like("Tanh", o.like("Softplus", x))))


def celu(o: Opener) -> None:
    """max(x, 0) + min(a (exp(x / a) - 1), 0)."""
    x, alpha = o.node.inputs[0], float(o.node.attrs.get("alpha", 1.0))
    scaled = o.like("Mul", x, o.constant(1 / alpha, _FLOAT))
    zero = o.constant(0.0, _FLOAT)
    below = o.like("Mul", o.make("Elu", o.like("Min", scaled, zero), shape=o.shape(x)), o.constant(alpha, _FLOAT))
    o.finish(o.like("Add", o.like("Max", x, zero), below))


def selu(o: Opener) -> None:
    """gamma times Elu of slope alpha."""
    x = o.node.inputs[0]
    alpha = float(o.node.attrs.get("alpha", 1.67326319217681884765625))
    gamma = float(o.node.attrs.get("gamma", 1.05070102214813232421875))
    o.finish(o.like("Mul", o.make("Elu", x, shape=o.shape(x), alpha=alpha), o.constant(gamma, _FLOAT)))


def softsign(o: Opener) -> None:
    """x / (1 + |x|)."""
    x = o.node.inputs[0]
    o.finish(o.like("Div", x, o.like("Add", o.like("Abs", x), o.constant(1.0, _FLOAT))))


def matrix_by_vector(o: Opener) -> None:
    """A product in which an operand has one axis: it becomes a row or a column for it."""
    a, b = o.node.inputs[:2]
    shape = o.shape(o.node.outputs[0])
    row, column = len(o.shape(a)) == 1, len(o.shape(b)) == 1
    a = o.make("Unsqueeze", a, shape=[1, *o.shape(a)]) if row else a
    b = o.make("Unsqueeze", b, shape=[*o.shape(b), 1]) if column else b
    lead = list(shape[: len(shape) - (not row) - (not column)])
    rows, columns = o.shape(a)[-2], o.shape(b)[-1]
    o.finish(o.make("Reshape", o.make("MatMul", a, b, shape=[*lead, rows, columns]), shape=shape))


def depth_to_space(o: Opener) -> None:
    """Channels become blocks of the image."""
    x, size = o.node.inputs[0], int(o.node.attrs["blocksize"])
    batch, channels, height, width = o.shape(x)
    inside = channels // size**2
    mode = o.node.attrs.get("mode", b"DCR")
    blocks_first = mode in (b"DCR", "DCR")
    parts = [size, size, inside] if blocks_first else [inside, size, size]
    order = [0, 3, 4, 1, 5, 2] if blocks_first else [0, 1, 4, 2, 5, 3]
    _rearranged(o, [batch, *parts, height, width], order)


def space_to_depth(o: Opener) -> None:
    """Blocks of the image become channels."""
    size = int(o.node.attrs["blocksize"])
    batch, channels, height, width = o.shape(o.node.inputs[0])
    _rearranged(o, [batch, channels, height // size, size, width // size, size], [0, 3, 5, 1, 2, 4])


def _rearranged(o: Opener, parts: list[int], order: list[int]) -> None:
    split = o.make("Reshape", o.node.inputs[0], shape=parts)
    moved = o.make("Transpose", split, shape=[parts[k] for k in order], perm=order)
    o.finish(o.make("Reshape", moved, shape=o.shape(o.node.outputs[0])))


def resize(o: Opener) -> None:
    """An image of another size, each element being the nearest one of the image."""
    x, result = o.node.inputs[0], o.shape(o.node.outputs[0])
    mode, transform, rounding = (
        _text(o, name, default)
        for name, default in (
            ("mode", "nearest"),
            ("coordinate_transformation_mode", "half_pixel"),
            ("nearest_mode", "round_prefer_floor"),
        )
    )
    if mode != "nearest":
        raise UnsupportedOperator(f"Resize {o.node.outputs[0]!r}: mode {mode!r} has no emitter; use nearest")
    name = o.node.inputs[2] if len(o.node.inputs) > 2 else ""
    given = o.graph.values[name].constant if name else None
    axes = [int(axis) for axis in o.node.attrs.get("axes", range(len(result)))]
    source = x
    for axis, extent in enumerate(o.shape(source)):
        if extent == result[axis]:
            continue
        known = given is not None and given.size > axes.index(axis)
        scale = float(given[axes.index(axis)]) if known and given is not None else result[axis] / extent
        try:
            places = nearest_places(extent, result[axis], scale, transform, rounding)
        except ValueError as error:
            raise UnsupportedOperator(f"Resize {o.node.outputs[0]!r}: {error}") from None
        shape = [*o.shape(x)[:axis], len(places), *o.shape(x)[axis + 1 :]]
        x = o.make("Gather", x, o.immediate(np.array(places), _INT), shape=shape, axis=axis)
    o.finish(x if x != source else o.make("Identity", x, shape=result))


def _text(o: Opener, name: str, default: str) -> str:
    value = o.node.attrs.get(name, default)
    return value.decode() if isinstance(value, bytes) else str(value)


def is_matrix_product(graph: MNGraph, node: MNNode) -> bool:
    """Whether both operands have at least two axes."""
    return all(len(graph.values[name].shape) > 1 for name in node.inputs[:2])
