"""Constants that are part of the code: those that layers read at compile time, and those whose elements are all alike,
which become immediates of the element-wise operators that read them (`scalars`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph import Location, MNGraph, MNNode, MNValue
from compiler.layers.elementwise import scalar_inputs
from compiler.layout import Layout, Level, PadLayout


def place_immediate(value: MNValue) -> MNNode:
    """Place a constant in the form in which the listing of seed 3.1 shows it: over the L1Bs, copied everywhere else.

    Returns the node that stands for it.
    """
    extent = max(1, int(np.prod(value.shape, dtype=int)))
    digits: list[tuple[int, Level, int]] = [(8, Level.L1B, 1)]
    if extent > 8:
        digits.append((-(-extent // 8), Level.ADDR, 1))
    if len(value.shape) == 1:
        value.layout = PadLayout(value.shape, Layout.build([digits]))
    value.place_at(Location.IMM)
    return MNNode("Constant", value.name, [], [value.name])


def inline_scalars(graph: MNGraph, changing: Collection[str]) -> None:
    """Move uniform constants into the nodes that can take them, and drop those that nothing reads any more.

    `changing`: parameters, whose contents may change between calls; they stay tensors.
    """
    constant = {name for name in graph.params if name not in changing and graph.values[name].constant is not None}
    for node in graph.nodes:
        given = len(node.used)
        for position in scalar_inputs(node):
            name = node.inputs[position]
            data = graph.values[name].constant if name in constant else None
            if data is None or given == 1 or not _uniform(data) or not _shape_stays(node, position, graph):
                continue
            given -= 1
            node.attrs.setdefault("scalars", {})[position] = data.flat[0].item()
            node.inputs[position] = ""
    read = {name for node in graph.nodes for name in node.used} | set(graph.outputs)
    for name in [name for name in graph.params if name in constant and name not in read]:
        graph.params.remove(name)
        del graph.values[name]


def _uniform(data: NDArray[Any]) -> bool:
    """Whether all elements have the same bits."""
    return data.size > 0 and bool((data.view(f"V{data.itemsize}") == data.flat[0].view(f"V{data.itemsize}")).all())


def _shape_stays(node: MNNode, position: int, graph: MNGraph) -> bool:
    """Whether the operands beside this one have the result's shape among them."""
    others = [graph.values[name].shape for k, name in enumerate(node.inputs) if name and k != position]
    return np.broadcast_shapes(*others) == tuple(graph.values[node.outputs[0]].shape)
