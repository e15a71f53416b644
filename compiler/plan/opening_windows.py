"""Convolutions and poolings made of windows, products and reductions (see `compiler.plan.opening`).

A convolution gathers the windows of its input (`MNCoreWindows`: batch, places of the result, and elements of the
window times channels) and multiplies them by the filter; a pooling reduces them.  The gradient of an input gathers, for
each of its elements, the gradients of all windows that it is in; that of a filter multiplies gradients by windows.
Windows that are too large for local memory are made for every n-th row at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.errors import UnsupportedOperator
from compiler.graph import OnnxType
from compiler.layers.image_layouts import MABS, TILE, channels_inside, split_axis
from compiler.plan.opener import Opener
from compiler.switch.windows import window_elements

STEPS = ("strides", "dilations")
#: Long words of windows that a PE may hold, so that their copy in block float and the rest find room beside them.
MOST_WINDOWS = 640


@dataclass(frozen=True)
class _Geometry:
    """What a convolution or pooling does with the spatial axes, which are those after batch and channels.

    extents: of the input.  places: of the result.  starts: padding before the first element.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    starts: tuple[int, ...]
    extents: tuple[int, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, o: Opener, kernel: Sequence[int], extents: Sequence[int], places: Sequence[int]) -> _Geometry:
        """From the attributes of a node."""
        attrs = o.node.attrs
        strides, dilations = ([int(v) for v in attrs.get(name) or [1] * len(kernel)] for name in STEPS)
        starts = _starts(o, kernel, extents, places, strides, dilations)
        return cls(*(tuple(int(v) for v in vector) for vector in (kernel, strides, dilations, starts, extents, places)))

    @property
    def window(self) -> int:
        """Elements of a window."""
        return math.prod(self.kernel)

    @property
    def apart(self) -> bool:
        """Whether no element is in two windows."""
        spans = ((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))
        return all(stride >= span for stride, span in zip(self.strides, spans, strict=True))

    def attrs(self, *, back: bool) -> dict[str, Any]:
        """Attributes of MNCoreWindows over the input, or `back` over the result."""
        names = ("kernel_shape", "strides", "dilations", "starts")
        steps = {name: list(v) for name, v in zip(names, (self.kernel, *self.steps), strict=True)}
        return {**steps, "places": list(self.extents if back else self.places), "back": int(back)}

    @property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """Strides, dilations, starts."""
        return self.strides, self.dilations, self.starts

    def elements(self) -> Any:
        """`window_elements` of the input, flat: int64[window, places]."""
        return window_elements(self.extents, self.attrs(back=False)).reshape(self.window, -1)


@dataclass(frozen=True)
class _Cut:
    """Places in `parts` parts along a spatial axis: the part k has every `parts`-th place from k on."""

    axis: int
    parts: int

    @classmethod
    def of(cls, places: Sequence[int], depth: int) -> _Cut:
        """The fewest parts whose windows of `depth` elements fit; one part where that does not help."""
        found = split_axis((1, *places, depth), -1)
        axis = 0 if found is None else found - 1
        rows, others = places[axis], math.prod(places) // places[axis]
        for parts in range(1, -(-rows // MABS) + 1):
            local = -(-rows // parts // MABS) * others
            if rows % parts == 0 and local * -(-depth // TILE) <= MOST_WINDOWS:
                return cls(axis, parts)
        return cls(axis, 1)

    def places(self, whole: Sequence[int]) -> list[int]:
        """Places of a part."""
        return [extent // self.parts if axis == self.axis else extent for axis, extent in enumerate(whole)]

    def together(self, o: Opener, parts: Sequence[str], places: Sequence[int]) -> str:
        """(batch, *places, channels) of all parts in one tensor."""
        if len(parts) == 1:
            return parts[0]
        batch, *_, channels = o.shape(parts[0])
        axis, each = self.axis + 2, self.places(places)
        before, after = [batch, *each[: axis - 1]], [*each[axis - 1 :], channels]
        apart = [o.make("Unsqueeze", x, shape=[*before, 1, *after]) for x in parts]
        joined = o.make("Concat", *apart, shape=[*before, self.parts, *after], axis=axis)
        return o.make("Reshape", joined, shape=[batch, *places, channels])


def _joined(o: Opener, x: str, geometry: _Geometry, cut: _Cut, part: int, *, back: bool = False) -> str:
    """Windows of a part as rows of a product: (batch, *places, window * channels)."""
    attrs = geometry.attrs(back=back)
    attrs["places"] = cut.places(attrs["places"])
    attrs["skips"] = [cut.parts if axis == cut.axis else 1 for axis in range(len(attrs["places"]))]
    attrs["starts"][cut.axis] += part if back else -part * geometry.strides[cut.axis]
    shape = [o.shape(x)[0], *attrs["places"], geometry.window * o.shape(x)[1]]
    return o.make("MNCoreWindows", x, shape=shape, joined=1, fill=0.0, **attrs)


def _apart(o: Opener, x: str, geometry: _Geometry, fill: float) -> str:
    """Windows with an axis of their elements: (batch, window, *places, channels)."""
    shape = [o.shape(x)[0], geometry.window, *geometry.places, o.shape(x)[1]]
    return o.make("MNCoreWindows", x, shape=shape, fill=fill, **geometry.attrs(back=False))


def _added_back(o: Opener, x: str, geometry: _Geometry, *, fold: bool) -> str:
    """For each element of the input the sum over the windows that it is in: (batch, channels, *extents).

    x: (batch, channels, *places), or with `fold` (batch, window, *places, channels), the parts of a window's elements.
    """
    batch, channels = o.shape(x)[0], o.shape(x)[-1 if fold else 1]
    slots = 1 if geometry.apart else geometry.window
    attrs = {**geometry.attrs(back=True), "fold": int(fold), "slots": slots, "fill": 0.0}
    shape = [batch, *([slots] if slots > 1 else []), *geometry.extents, channels]
    parts = o.make("MNCoreWindows", x, shape=shape, **attrs)
    return _channels_first(o, o.reduce("ReduceSum", parts, (1,), keep=False) if slots > 1 else parts)


def _channels_first(o: Opener, x: str) -> str:
    """(batch, *places, channels) as (batch, channels, *places)."""
    rank = len(o.shape(x))
    perm = [0, rank - 1, *range(1, rank - 1)]
    return o.make("Transpose", x, shape=[o.shape(x)[axis] for axis in perm], perm=perm)


def _channels_last(o: Opener, x: str) -> str:
    """(batch, channels, *places) as (batch, *places, channels)."""
    rank = len(o.shape(x))
    perm = [0, *range(2, rank), 1]
    return o.make("Transpose", x, shape=[o.shape(x)[axis] for axis in perm], perm=perm)


def _starts(
    o: Opener,
    kernel: Sequence[int],
    extents: Sequence[int],
    places: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
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


def _convolve(o: Opener, geometry: _Geometry, *, back: bool) -> None:
    """Windows times the filter, plus the bias if there is one, as the result with channels first."""
    x, weight = o.node.inputs[:2]
    result, groups = o.shape(o.node.outputs[0]), _group(o)
    outputs, depth = o.shape(weight)[0], geometry.window * o.shape(x)[1]
    inside = channels_inside(o.shape(weight))
    # A filter whose contraction does not lie over words and PEs is transposed by the matrix unit.
    columns = (inside or outputs % TILE != 0) if back else not inside
    shape = [depth, result[1]] if columns else [result[1], depth]
    rows = o.make("MNCoreFilter", weight, shape=shape, group=groups, back=int(back), columns=int(columns))
    bias = [name for name in o.node.inputs[2:3] if name]
    cut = _Cut.of(result[2:], depth)
    last = [result[0], *cut.places(result[2:]), result[1]]
    parts = [
        o.make(
            "MNCoreConvolve",
            *(_joined(o, x, geometry, cut, part, back=back), rows, *bias),
            shape=last,
            columns=int(columns),
        )
        for part in range(cut.parts)
    ]
    o.finish(_channels_first(o, cut.together(o, parts, result[2:])))


def _group(o: Opener) -> int:
    return int(o.node.attrs.get("group", 1))


def conv(o: Opener) -> None:
    """Convolution of any number of spatial axes, strides, dilations, paddings and groups."""
    x, weight = o.node.inputs[:2]
    geometry = _Geometry.of(o, o.shape(weight)[2:], o.shape(x)[2:], o.shape(o.node.outputs[0])[2:])
    _convolve(o, geometry, back=False)


def conv_transpose(o: Opener) -> None:
    """Transposed convolution: each place of the result takes what the windows that it is in would have taken of it."""
    x, weight = o.node.inputs[:2]
    mode = o.node.attrs.get("auto_pad", b"NOTSET")
    if mode not in ("NOTSET", b"NOTSET"):
        raise UnsupportedOperator(f"ConvTranspose {o.node.outputs[0]!r}: auto_pad={mode!r} has no emitter; give pads")
    geometry = _Geometry.of(o, o.shape(weight)[2:], o.shape(o.node.outputs[0])[2:], o.shape(x)[2:])
    _convolve(o, geometry, back=True)


def conv_grad_weight(o: Opener) -> None:
    """Gradient of the filter (inputs: filter, of which only the shape counts, input, gradient of the result)."""
    weight, x, gradient = o.node.inputs[:3]
    geometry = _Geometry.of(o, o.shape(weight)[2:], o.shape(x)[2:], o.shape(gradient)[2:])
    columns = not channels_inside(o.shape(weight))
    cut = _Cut.of(geometry.places, geometry.window * o.shape(x)[1])
    total = ""
    for part in range(cut.parts):
        operands = [_every(o, gradient, cut, part), _joined(o, x, geometry, cut, part)]
        operands = operands[::-1] if columns else operands
        product = o.make("MNCoreConvolveGrad", *operands, shape=[o.shape(name)[-1] for name in operands])
        total = o.like("Add", total, product) if total else product
    o.finish(o.make("MNCoreFilterGrad", total, shape=o.shape(weight), group=_group(o), columns=int(columns)))


def _every(o: Opener, x: str, cut: _Cut, part: int) -> str:
    """The places of a part of (batch, channels, *places), channels last."""
    if cut.parts == 1:
        return _channels_last(o, x)
    places = o.shape(x)[2:]
    ones = (1,) * len(places)
    single = _Geometry(ones, ones, ones, (0,) * len(places), places, places)
    return _joined(o, x, single, cut, part)


def _pool_geometry(o: Opener, x: str, result: str) -> _Geometry:
    return _Geometry.of(o, [int(v) for v in o.node.attrs["kernel_shape"]], o.shape(x)[2:], o.shape(result)[2:])


def max_pool(o: Opener) -> None:
    """Largest element of each window; padding does not take part."""
    if len(o.node.outputs) > 1 and o.node.outputs[1]:
        raise UnsupportedOperator(f"MaxPool {o.node.outputs[0]!r}: the output of indices has no emitter")
    x = o.node.inputs[0]
    windows = _apart(o, x, _pool_geometry(o, x, o.node.outputs[0]), -math.inf)
    o.finish(_channels_first(o, o.reduce("ReduceMax", windows, (1,), keep=False)))


def max_pool_grad(o: Opener) -> None:
    """Gradient of the input, all of it at the first largest element of each window (inputs: input, gradient)."""
    x, gradient = o.node.inputs[:2]
    geometry = _pool_geometry(o, x, gradient)
    windows = _apart(o, x, geometry, -math.inf)
    here = o.like("Equal", windows, o.reduce("ReduceMax", windows, (1,)), kind=OnnxType.BOOL)
    numbers = o.positions(o.shape(windows), 1, OnnxType.INT32)
    number = o.like("Where", here, numbers, o.constant(geometry.window, OnnxType.INT32), kind=OnnxType.INT32)
    first = o.like("Equal", number, o.reduce("ReduceMin", number, (1,)), kind=OnnxType.BOOL)
    moved = _channels_last(o, gradient)
    spread = o.make("Unsqueeze", moved, shape=[o.shape(moved)[0], 1, *o.shape(moved)[1:]])
    parts = o.like("Where", first, spread, o.constant(0, o.kind(gradient)), kind=o.kind(gradient))
    o.finish(_added_back(o, parts, geometry, fold=True))


def _shares(o: Opener, geometry: _Geometry) -> str:
    """One over the elements of each window that count, as numbers for (batch, *places, channels)."""
    if o.node.attrs.get("count_include_pad", 0):
        return o.constant(1 / geometry.window, OnnxType.FLOAT32)
    inside = (geometry.elements() >= 0).sum(axis=0)
    return o.constant((1 / inside).reshape(*geometry.places, 1), OnnxType.FLOAT32)


def average_pool(o: Opener) -> None:
    """Mean of each window; padding counts as zeros with count_include_pad, else not at all."""
    x = o.node.inputs[0]
    geometry = _pool_geometry(o, x, o.node.outputs[0])
    total = o.reduce("ReduceSum", _apart(o, x, geometry, 0.0), (1,), keep=False)
    o.finish(_channels_first(o, o.like("Mul", total, _shares(o, geometry))))


def average_pool_grad(o: Opener) -> None:
    """Gradient of the input of a mean of windows (inputs: input, of which only the shape counts, gradient)."""
    x, gradient = o.node.inputs[:2]
    geometry = _pool_geometry(o, x, gradient)
    share = o.like("Mul", _channels_last(o, gradient), _shares(o, geometry))
    o.finish(_added_back(o, _channels_first(o, share), geometry, fold=False))


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
