"""Reading and writing at indices known at run time, and order: comparisons with all positions instead of moves.

Nothing on the chip moves an element to a place that data say, but a comparison of an index with all positions tells
every place whether it is meant.  Indices that are alike in every row become addresses (`MNCoreGather`).  Indices are
not negative (the exporter sees to that); of equal ones the last counts, and sums take all.  Sorting counts for each
element how many come before it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, OnnxType
from compiler.plan.opener import Opener

_FLOAT, _INT, _BOOL = OnnxType.FLOAT32, OnnxType.INT64, OnnxType.BOOL
#: Reduction of ScatterElements -> operator over updates, what it gives for none, operator with the data.
_REDUCTIONS: dict[str, tuple[str, float, str]] = {
    "add": ("ReduceSum", 0.0, "Add"),
    "mul": ("ReduceProd", 1.0, "Mul"),
    "max": ("ReduceMax", -math.inf, "Max"),
    "min": ("ReduceMin", math.inf, "Min"),
}


def _with_axis(o: Opener, name: str, axis: int) -> str:
    shape = o.shape(name)
    return o.make("Unsqueeze", name, shape=[*shape[:axis], 1, *shape[axis:]])


def _without_axis(o: Opener, name: str, axis: int) -> str:
    shape = o.shape(name)
    return o.make("Squeeze", name, shape=[*shape[:axis], *shape[axis + 1 :]])


def _before_expand(graph: MNGraph, name: str, rank: int) -> tuple[str, tuple[int, ...]]:
    """What a value repeats (itself if it repeats nothing), and that one's shape with `rank` axes."""
    made_by = {out: node for node in graph.nodes for out in node.outputs}
    while name in made_by and made_by[name].op_type in ("Expand", "Identity"):
        name = made_by[name].inputs[0]
    shape = graph.values[name].shape
    return name, (1,) * (rank - len(shape)) + shape


def _vector(o: Opener, index: str, axis: int) -> str:
    """The indices as one vector where every row has the same, else ""."""
    name, shape = _before_expand(o.graph, index, len(o.shape(index)))
    count = o.shape(index)[axis]
    if shape[axis] != count or math.prod(shape) != count:
        return ""
    return name if o.shape(name) == (count,) else o.make("Reshape", name, shape=[count])


def _gather(o: Opener, values: str, index: str, axis: int) -> str:
    """Elements at the places of a vector along an axis."""
    in_dram = values in o.graph.inputs or values in o.graph.params
    shape = o.shape(values)
    result = [*shape[:axis], *o.shape(index), *shape[axis + 1 :]]
    return o.make("MNCoreStreamGather" if in_dram else "MNCoreGather", values, index, shape=result, axis=axis)


def _axis_of(node: MNNode, rank: int) -> int:
    return int(node.attrs.get("axis", 0)) % rank


def _require_rows(o: Opener, axis: int) -> None:
    data, index = o.shape(o.node.inputs[0]), o.shape(o.node.inputs[1])
    if [*data[:axis], *data[axis + 1 :]] != [*index[:axis], *index[axis + 1 :]]:
        raise UnsupportedOperator(
            f"{o.node.op_type} {o.node.outputs[0]!r}: data of shape {data} and indices of shape {index}; they must "
            f"agree in all axes but axis {axis}, cut the data first"
        )


def gather_elements(o: Opener) -> None:
    """One element for each index along an axis."""
    values, index = o.node.inputs[:2]
    axis = _axis_of(o.node, len(o.shape(values)))
    _require_rows(o, axis)
    if o.shape(index)[axis] != 1 and (vector := _vector(o, index, axis)):
        o.finish(_gather(o, values, vector, axis))
        return
    if o.shape(index)[axis] == 1:
        o.finish(picked(o, values, index, axis))
        return
    taken = picked(o, _with_axis(o, values, axis), _with_axis(o, index, axis + 1), axis + 1)
    o.finish(_without_axis(o, taken, axis + 1))


def picked(o: Opener, values: str, index: str, axis: int) -> str:
    """The element of `values` at `index` (extent 1 along `axis`), summed out of zeros elsewhere."""
    here = o.like("Equal", index, o.positions(o.shape(values), axis, o.kind(index)), kind=_BOOL)
    zero = o.constant(0, o.kind(values))
    return o.reduce("ReduceSum", o.like("Where", here, values, zero, kind=o.kind(values)), (axis,))


def _reduction(node: MNNode) -> str:
    given = node.attrs.get("reduction", b"none")
    return given.decode() if isinstance(given, bytes) else str(given)


def scatter_elements(o: Opener) -> None:
    """Data with updates at indices along an axis; the way depends on the reduction and on what the rows share."""
    data, index, updates = o.node.inputs[:3]
    axis, reduction = _axis_of(o.node, len(o.shape(data))), _reduction(o.node)
    _require_rows(o, axis)
    if reduction != "none":
        o.finish(_scatter_reduced(o, data, index, updates, axis, reduction))
    elif o.shape(index)[axis] == 1:
        here = o.like("Equal", index, o.positions(o.shape(data), axis, o.kind(index)), kind=_BOOL)
        o.finish(o.like("Where", here, updates, data, kind=o.kind(data)))
    elif vector := _vector(o, index, axis):
        o.finish(_scatter_rows(o, data, vector, updates, axis))
    else:
        o.finish(_scatter_anywhere(o, data, index, updates, axis))


def _scatter_rows(o: Opener, data: str, vector: str, updates: str, axis: int) -> str:
    """The same places in every row: for each place the number of its update, then a gather."""
    shape, count = o.shape(data), o.shape(vector)[0]
    column = o.make("Reshape", vector, shape=[count, 1])
    here = o.like("Equal", column, o.positions((1, shape[axis]), 1, o.kind(vector)), kind=_BOOL)
    last = o.reduce("ReduceMax", _numbered(o, here, 0, count), (0,), keep=False)
    first = o.like("Max", o.like("Sub", last, o.constant(1, _INT)), o.constant(0, _INT))
    fresh = _gather(o, updates, first, axis)
    written = o.like("Greater", last, o.constant(0, _INT), kind=_BOOL)
    written = o.make("Reshape", written, shape=[extent if n == axis else 1 for n, extent in enumerate(shape)])
    return o.like("Where", written, fresh, data, kind=o.kind(data))


def _numbered(o: Opener, here: str, axis: int, count: int) -> str:
    """1, 2, 3, ... along an axis where `here` holds, else 0."""
    numbers = _counting(o, 1, count, axis, len(o.shape(here)))
    return o.like("Where", here, numbers, o.constant(0, _INT), kind=_INT)


def _counting(o: Opener, first: int, count: int, axis: int, rank: int) -> str:
    """Integers from `first` on along one of `rank` axes."""
    return o.constant(np.arange(first, first + count).reshape([-1 if n == axis else 1 for n in range(rank)]), _INT)


def _spread(o: Opener, data: str, index: str, updates: str, axis: int) -> tuple[str, str]:
    """(which index means which place, the updates), with the indices along `axis` and the places along the next."""
    column = _with_axis(o, index, axis + 1)
    shape = [*o.shape(data)[:axis], 1, *o.shape(data)[axis:]]
    here = o.like("Equal", column, o.positions(shape, axis + 1, o.kind(index)), kind=_BOOL)
    return here, _with_axis(o, updates, axis + 1)


def _scatter_anywhere(o: Opener, data: str, index: str, updates: str, axis: int) -> str:
    here, fresh = _spread(o, data, index, updates, axis)
    count = o.shape(index)[axis]
    last = o.reduce("ReduceMax", _numbered(o, here, axis, count), (axis,))
    chosen = o.like("Equal", last, _counting(o, 1, count, axis, len(o.shape(here))), kind=_BOOL)
    terms = o.like("Where", chosen, fresh, o.constant(0, o.kind(data)), kind=o.kind(data))
    value = o.reduce("ReduceSum", terms, (axis,), keep=False)
    written = o.like("Greater", _without_axis(o, last, axis), o.constant(0, _INT), kind=_BOOL)
    return o.like("Where", written, value, data, kind=o.kind(data))


def _scatter_reduced(o: Opener, data: str, index: str, updates: str, axis: int, reduction: str) -> str:
    if reduction not in _REDUCTIONS:
        raise UnsupportedOperator(
            f"ScatterElements {o.node.outputs[0]!r}: reduction {reduction!r} is unknown; use none or "
            f"{', '.join(_REDUCTIONS)}"
        )
    if reduction == "add" and axis == 0 and o.kind(data) is _FLOAT and len(o.shape(data)) > 1:
        vector = _vector(o, index, axis)
        if vector:
            return _sum_of_rows(o, data, vector, updates)
    over, none, join = _REDUCTIONS[reduction]
    here, fresh = _spread(o, data, index, updates, axis)
    terms = o.like("Where", here, fresh, o.constant(none, o.kind(data)), kind=o.kind(data))
    return o.like(join, data, o.reduce(over, terms, (axis,), keep=False))


def _sum_of_rows(o: Opener, data: str, vector: str, updates: str) -> str:
    """Rows added at the same places, e.g. the gradient of an embedding: a product with ones where an index meets."""
    rows, *rest = o.shape(data)
    count, width = o.shape(vector)[0], math.prod(rest)
    line = o.make("Reshape", vector, shape=[1, count])
    here = o.like("Equal", line, o.positions((rows, 1), 0, o.kind(vector)), kind=_BOOL)
    ones = o.make("Cast", here, shape=[rows, count], kind=_FLOAT, to=_FLOAT.code)
    flat = updates if len(rest) == 1 else o.make("Reshape", updates, shape=[count, width])
    total = o.make("MatMul", ones, flat, shape=[rows, width])
    total = total if len(rest) == 1 else o.make("Reshape", total, shape=o.shape(data))
    return o.like("Add", data, total)


def top_k(o: Opener) -> None:
    """The first k in order and their places: each element's place in the order is the number of those before it."""
    x, shape = o.node.inputs[0], o.shape(o.node.inputs[0])
    axis = int(o.node.attrs.get("axis", -1)) % len(shape)
    count, extent = int(o.node.attrs["k"][0]), shape[axis]
    before, or_equal = ("Greater", "GreaterOrEqual") if o.node.attrs.get("largest", 1) else ("Less", "LessOrEqual")
    own, others = _with_axis(o, x, axis + 1), _with_axis(o, x, axis)
    rank = len(shape) + 1
    earlier = np.arange(extent)[None, :] < np.arange(extent)[:, None]
    earlier = earlier.reshape([extent if n in (axis, axis + 1) else 1 for n in range(rank)])
    first = o.like(
        "Where",
        o.constant(earlier, _BOOL),
        o.like(or_equal, others, own, kind=_BOOL),
        o.like(before, others, own, kind=_BOOL),
        kind=_BOOL,
    )
    counted = o.make("Cast", first, shape=o.shape(first), kind=_INT, to=_INT.code)
    place = o.reduce("ReduceSum", counted, (axis + 1,))
    here = o.like("Equal", place, _counting(o, 0, count, axis + 1, rank), kind=_BOOL)
    numbers = _counting(o, 0, extent, axis, rank)
    for output, (source, kind) in enumerate(((own, o.kind(x)), (numbers, _INT))):
        if output < len(o.node.outputs) and o.node.outputs[output]:
            terms = o.like("Where", here, source, o.constant(0, kind), kind=kind)
            o.finish(o.reduce("ReduceSum", terms, (axis,), keep=False), output)


def triangle(o: Opener) -> None:
    """Zeros below or above a diagonal."""
    x, shape = o.node.inputs[0], o.shape(o.node.inputs[0])
    offset = int(o.node.attrs.get("k", [0])[0])
    rows, columns = np.arange(shape[-2])[:, None], np.arange(shape[-1])[None, :]
    kept = columns - rows >= offset if o.node.attrs.get("upper", 1) else columns - rows <= offset
    o.finish(o.like("Where", o.constant(kept, _BOOL), x, o.constant(0, o.kind(x)), kind=o.kind(x)))


def running_sum(o: Opener) -> None:
    """Sums up to each place, by doubling: after step n every place holds the sum of 2**n elements."""
    x, shape = o.node.inputs[0], o.shape(o.node.inputs[0])
    axis = int(o.node.attrs["axis"][0]) % len(shape)
    backward = bool(o.node.attrs.get("reverse", 0))
    total = x
    if o.node.attrs.get("exclusive", 0):
        total = _shifted(o, total, axis, 1, backward)
    distance = 1
    while distance < shape[axis]:
        total = o.like("Add", total, _shifted(o, total, axis, distance, backward))
        distance *= 2
    o.finish(total if total != x else o.make("Identity", x, shape=shape))


def _shifted(o: Opener, x: str, axis: int, distance: int, backward: bool) -> str:
    """x moved along an axis, zeros coming in."""
    pads: list[Any] = [0] * 2 * len(o.shape(x))
    near, far = (axis, len(o.shape(x)) + axis)[:: -1 if backward else 1]
    pads[near], pads[far] = distance, -distance
    return o.make("Pad", x, o.immediate(np.array(pads), _INT), shape=o.shape(x))


def has_layer(graph: MNGraph, node: MNNode) -> bool:
    """Whether a gather of elements has constant indices: then they change places and nothing is compared."""
    return node.op_type == "GatherElements" and graph.values[node.inputs[1]].loc is not None


