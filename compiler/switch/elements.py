"""What a data-movement operator moves where: PFVM's own operator, applied to element numbers instead of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.graph import MNGraph, MNNode
from compiler.layers.base import own_inputs
from compiler.layout.indexmap import row_major_strides
from compiler.layout.levels import IntArray
from compiler.switch.windows import filter_elements, filter_places, windows

#: Number of an element that holds the operator's fill value.
FILLED = -1
#: Operators that are defined by the shape of their result alone.
_BY_SHAPE: dict[str, Callable[[IntArray, tuple[int, ...]], IntArray]] = {
    "Expand": np.broadcast_to,
    "MNCoreReshape": np.reshape,
}
_FILL_INPUT = {"Pad": 2}


def element_map(node: MNNode, graph: MNGraph, sources: Sequence[int]) -> list[IntArray]:
    """For each output: the number of the element that each place takes, or FILLED.

    Elements of the inputs `sources` are numbered one input after the other; the other inputs are compile-time data.
    """
    start = 0
    numbers: list[IntArray] = []
    for position in sources:
        shape = graph.values[node.inputs[position]].shape
        size = int(np.prod(shape, dtype=np.int64))
        numbers.append(np.arange(start, start + size).reshape(shape))
        start += size
    if node.op_type == "MNCoreWindows":
        return [windows(numbers[0], graph.values[node.outputs[0]].shape, node.attrs)]
    if node.op_type == "MNCoreFilter":
        return [filter_elements(numbers[0], node.attrs)]
    if node.op_type == "MNCoreFilterGrad":
        return [filter_places(numbers[0], graph.values[node.outputs[0]].shape, node.attrs)]
    if node.op_type in _BY_SHAPE:
        return [_BY_SHAPE[node.op_type](numbers[0], graph.values[node.outputs[0]].shape).copy()]
    return _evaluated(node, graph, dict(zip(sources, numbers, strict=True)))


def _evaluated(node: MNNode, graph: MNGraph, numbers: dict[int, IntArray]) -> list[IntArray]:
    import torch

    from compiler.pfvm.operators import OPERATORS, Call

    inputs: list[torch.Tensor | None] = []
    for position, name in enumerate(own_inputs(node)):
        if position in numbers:
            inputs.append(torch.from_numpy(numbers[position]))
        elif not name or graph.values[name].constant is None:
            inputs.append(None)
        elif position == _FILL_INPUT.get(node.op_type):
            inputs.append(torch.tensor(FILLED))
        else:
            inputs.append(torch.from_numpy(np.array(graph.values[name].constant)))
    if node.op_type in _FILL_INPUT and len(inputs) <= _FILL_INPUT[node.op_type]:
        inputs += [None] * (_FILL_INPUT[node.op_type] - len(inputs)) + [torch.tensor(FILLED)]
    elif node.op_type in _FILL_INPUT and inputs[_FILL_INPUT[node.op_type]] is None:
        inputs[_FILL_INPUT[node.op_type]] = torch.tensor(FILLED)
    attributes: dict[str, Any] = {k: v.decode() if isinstance(v, bytes) else v for k, v in node.attrs.items()}
    call = Call(inputs, attributes, torch.device("cpu"), len(node.outputs))
    result = OPERATORS["", node.op_type].evaluate(call)
    results = [result] if isinstance(result, torch.Tensor) else list(result)
    return [tensor.contiguous().numpy().astype(np.int64, copy=False) for tensor in results]


def kept_axes(elements: IntArray, shapes: Sequence[tuple[int, ...]]) -> list[int | None]:
    """For each axis of a map: the axis of the sources along which it moves nothing, None where there is none."""
    result: list[int | None] = []
    taken = elements.ravel()
    real = taken >= 0
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]
    starts = np.cumsum([0, *sizes])
    which = np.searchsorted(starts, taken, side="right") - 1
    for axis, extent in enumerate(elements.shape):
        shaped = (-1,) + (1,) * (elements.ndim - axis - 1)
        own = np.broadcast_to(np.arange(extent).reshape(shaped), elements.shape).ravel()
        found: int | None = None
        for candidate in sorted(range(len(shapes[0])), key=lambda k: k != axis):
            if all(_follows(shape, candidate, extent, taken - starts[k], real & (which == k), own)
                   for k, shape in enumerate(shapes)):
                found = candidate
                break
        result.append(found if found not in result else None)
    return result


def _follows(shape: tuple[int, ...], axis: int, extent: int, flat: IntArray, real: Any, own: IntArray) -> bool:
    """Whether elements of a source keep their index along `axis`."""
    if axis >= len(shape) or shape[axis] != extent:
        return False
    index = flat[real] // row_major_strides(shape)[axis] % extent
    return bool(np.array_equal(index, own[real]))
