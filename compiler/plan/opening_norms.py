"""Normalisations opened into reductions and element-wise operators, by ONNX's formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.graph import OnnxType
from compiler.plan.opener import Opener


def _epsilon(o: Opener) -> str:
    return o.constant(float(o.node.attrs.get("epsilon", 1e-5)), OnnxType.FLOAT32)


def _mean(o: Opener, x: str, axes: Sequence[int]) -> str:
    count = math.prod(o.shape(x)[axis] for axis in axes)
    return o.like("Mul", o.reduce("ReduceSum", x, axes), o.constant(1 / count, OnnxType.FLOAT32))


def _normalised(o: Opener, x: str, axes: Sequence[int]) -> tuple[str, str, str]:
    """(x with mean 0 and variance 1 over `axes`, the mean, the factor): one root for each set of statistics."""
    mean = _mean(o, x, axes)
    difference = o.like("Sub", x, mean)
    variance = _mean(o, o.like("Mul", difference, difference), axes)
    factor = o.like("Rsqrt", o.like("Add", variance, _epsilon(o)))
    return o.like("Mul", difference, factor), mean, factor


def _per_channel(o: Opener, name: str, rank: int) -> str:
    """A vector over the channels (axis 1) in a shape that broadcasts against a tensor of `rank` axes."""
    return o.make("Reshape", name, shape=[1, *o.shape(name), *[1] * (rank - 2)])


def _scaled(o: Opener, x: str, scale: str, shift: str) -> str:
    if scale:
        x = o.like("Mul", x, scale)
    return o.like("Add", x, shift) if shift else x


def _optional(o: Opener, number: int) -> str:
    return o.node.inputs[number] if number < len(o.node.inputs) else ""


def layer_normalisation(o: Opener) -> None:
    """Over all axes from `axis` on; scale and shift have the shape of those axes.  Statistics are results too."""
    x = o.node.inputs[0]
    rank = len(o.shape(x))
    first = int(o.node.attrs.get("axis", -1)) % rank
    normalised, *statistics = _normalised(o, x, range(first, rank))
    o.finish(_scaled(o, normalised, _optional(o, 1), _optional(o, 2)))
    for number, name in enumerate(statistics, 1):
        if number < len(o.node.outputs) and o.node.outputs[number]:
            o.finish(name, number)


def instance_normalisation(o: Opener) -> None:
    """Over all axes behind batch and channel."""
    x, scale, shift = o.node.inputs[:3]
    rank = len(o.shape(x))
    normalised, _, _ = _normalised(o, x, range(2, rank))
    o.finish(_scaled(o, normalised, _per_channel(o, scale, rank), _per_channel(o, shift, rank)))


def batch_normalisation(o: Opener) -> None:
    """By given statistics (evaluation): one factor and one shift for each channel."""
    x, *vectors = o.node.inputs[:5]
    scale, shift, mean, variance = (_per_channel(o, name, len(o.shape(x))) for name in vectors)
    factor = o.like("Mul", scale, o.like("Rsqrt", o.like("Add", variance, _epsilon(o))))
    o.finish(o.like("Add", o.like("Mul", o.like("Sub", x, mean), factor), shift))
