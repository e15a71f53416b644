"""A planned graph computed layer by layer with the NumPy references: the second opinion on what the emitted VSM
computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph import MNGraph, encode
from compiler.layers.registry import layer_of

ABSENT: NDArray[Any] = np.zeros(0, np.uint32)


def run_reference(graph: MNGraph, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Raw element bits (plain shapes, uint16/32/64) of every value of the graph.

    feeds: host arrays by input name; parameters come from the graph's constants.
    """
    raw: dict[str, NDArray[Any]] = {}
    for name in graph.inputs:
        raw[name] = encode(np.asarray(feeds[name]), graph.values[name].dtype)
    for name in graph.params:
        value = graph.values[name]
        assert value.constant is not None
        raw[name] = encode(value.constant, value.dtype)
    for node in graph.nodes:
        if node.op_type == "Constant":
            continue
        results = layer_of(node).reference(node, graph, [raw.get(name, ABSENT) for name in node.inputs])
        for name, result in zip(node.outputs, results, strict=True):
            raw[name] = result.reshape(graph.values[name].shape)
    return raw
