"""Products, convolutions and poolings made of others (see `compiler.plan.opening`).

A convolution gathers the windows of its input (`MNCoreWindows`: channels and places of the window along one axis, the
places of the result along the last) and multiplies the weight by them; a pooling reduces them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, OnnxType
from compiler.switch.windows import window_elements

if TYPE_CHECKING:
    from compiler.plan.opening import Opener


def _factor(o: Opener, name: str) -> float:
    return float(o.node.attrs.get(name, 1.0))


def gemm_has_layer(graph: MNGraph, node: MNNode) -> bool:
    """Whether a Gemm is a plain product with at most a vector over its columns added."""
    columns = graph.values[node.outputs[0]].shape[-1:]
    plain = all(float(node.attrs.get(name, 1.0)) == 1.0 for name in ("alpha", "beta"))
    return plain and all(graph.values[name].shape == columns for name in node.inputs[2:] if name)


def gemm(o: Opener) -> None:
    """alpha * A . B + beta * C with any C that broadcasts to the result."""
    attrs = {name: o.node.attrs[name] for name in ("transA", "transB", "spread") if name in o.node.attrs}
    shape = o.shape(o.node.outputs[0])
    addend = o.node.inputs[2] if len(o.node.inputs) > 2 else ""
    if addend and _factor(o, "beta") != 1.0:
        addend = o.like("Mul", addend, o.constant(_factor(o, "beta"), OnnxType.FLOAT32))
    if addend and _factor(o, "alpha") == 1.0 and o.shape(addend) == shape[-1:]:
        o.finish(o.make("Gemm", *o.node.inputs[:2], addend, shape=shape, **attrs))
        return
    product = o.make("Gemm", *o.node.inputs[:2], shape=shape, **attrs)
    if _factor(o, "alpha") != 1.0:
        product = o.like("Mul", product, o.constant(_factor(o, "alpha"), OnnxType.FLOAT32))
    o.finish(o.like("Add", product, addend) if addend else product)


def _windows(
    o: Opener, kernel: tuple[int, ...], places: tuple[int, ...], *, groups: int, apart: bool, fill: float
) -> str:
    """Windows of the input: (batch, groups, channels of a group * window, places), without the axis of one group;
    `apart`: (batch, channels, window, places).
    """
    batch, channels, *extents = o.shape(o.node.inputs[0])
    attrs = o.node.attrs
    strides = [int(v) for v in attrs.get("strides", [1] * len(kernel))]
    dilations = [int(v) for v in attrs.get("dilations", [1] * len(kernel))]
    window, count = math.prod(kernel), math.prod(places)
    shape = [batch, groups, channels // groups * window, count] if groups > 1 else [batch, channels * window, count]
    return o.make(
        "MNCoreWindows",
        o.node.inputs[0],
        shape=[batch, channels, window, count] if apart else shape,
        kernel_shape=list(kernel),
        strides=strides,
        dilations=dilations,
        starts=_starts(o, kernel, extents, places, strides, dilations),
        places=list(places),
        fill=fill,
    )


def _starts(
    o: Opener, kernel: Any, extents: list[int], places: Any, strides: list[int], dilations: list[int]
) -> list[int]:
    """Padding before the first element of each spatial axis."""
    mode = o.node.attrs.get("auto_pad", b"NOTSET")
    mode = mode.decode() if isinstance(mode, bytes) else str(mode)
    if mode in ("NOTSET", "VALID"):
        pads = o.node.attrs.get("pads", [0] * 2 * len(kernel)) if mode == "NOTSET" else [0] * len(kernel)
        return [int(v) for v in pads[: len(kernel)]]
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise UnsupportedOperator(
            f"{o.node.op_type} {o.node.outputs[0]!r}: auto_pad={mode!r} is unknown; use NOTSET, VALID, SAME_UPPER or "
            "SAME_LOWER"
        )
    spans = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(places, strides, kernel, dilations, strict=True)]
    missing = [max(0, span - extent) for span, extent in zip(spans, extents, strict=True)]
    return [total // 2 if mode == "SAME_UPPER" else total - total // 2 for total in missing]


def conv(o: Opener) -> None:
    """Convolution of any number of spatial axes, strides, dilations, paddings and groups."""
    weight, result = o.node.inputs[1], o.shape(o.node.outputs[0])
    groups = int(o.node.attrs.get("group", 1))
    outputs, inside, *kernel = o.shape(weight)
    places = result[2:]
    windows = _windows(o, tuple(kernel), places, groups=groups, apart=False, fill=0.0)
    depth, count = inside * math.prod(kernel), math.prod(places)
    rows = [groups, outputs // groups, depth] if groups > 1 else [outputs, depth]
    lead = [result[0], groups, outputs // groups] if groups > 1 else [result[0], outputs]
    flat = o.make("Reshape", weight, shape=rows)
    product = o.make("MatMul", flat, windows, shape=[*lead, count])
    product = o.make("Reshape", product, shape=result)
    if len(o.node.inputs) > 2 and o.node.inputs[2]:
        bias = o.make("Reshape", o.node.inputs[2], shape=[outputs, *[1] * len(places)])
        product = o.like("Add", product, bias)
    o.finish(product)


def _kernel(o: Opener) -> tuple[int, ...]:
    return tuple(int(v) for v in o.node.attrs["kernel_shape"])


def max_pool(o: Opener) -> None:
    """Largest element of each window; padding does not take part."""
    if len(o.node.outputs) > 1 and o.node.outputs[1]:
        raise UnsupportedOperator(f"MaxPool {o.node.outputs[0]!r}: the output of indices has no emitter")
    result = o.shape(o.node.outputs[0])
    windows = _windows(o, _kernel(o), result[2:], groups=1, apart=True, fill=-math.inf)
    o.finish(o.make("Reshape", o.reduce("ReduceMax", windows, (2,), keep=False), shape=result))


def average_pool(o: Opener) -> None:
    """Mean of each window; padding counts as zeros with count_include_pad, else not at all."""
    result, kernel = o.shape(o.node.outputs[0]), _kernel(o)
    windows = _windows(o, kernel, result[2:], groups=1, apart=True, fill=0.0)
    total = o.make("Reshape", o.reduce("ReduceSum", windows, (2,), keep=False), shape=result)
    if o.node.attrs.get("count_include_pad", 0):
        share: Any = 1 / math.prod(kernel)
    else:
        attrs = next(node.attrs for node in o.nodes if node.op_type == "MNCoreWindows")
        inside = window_elements(o.shape(o.node.inputs[0])[2:], attrs) >= 0
        share = (1 / inside.reshape(math.prod(kernel), -1).sum(axis=0)).reshape(result[2:])
    o.finish(o.like("Mul", total, o.constant(share, OnnxType.FLOAT32)))


def global_pool(reduction: str) -> Any:
    """Mean or maximum over all spatial axes."""

    def opened(o: Opener) -> None:
        x = o.node.inputs[0]
        axes = range(2, len(o.shape(x)))
        total = o.reduce(reduction, x, axes)
        if reduction == "ReduceSum":
            total = o.like("Mul", total, o.constant(1 / math.prod(o.shape(x)[2:]), OnnxType.FLOAT32))
        o.finish(total)

    return opened
