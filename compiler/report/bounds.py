"""Lower bounds of a program's cycles, beside which the achieved number stands in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compiler.graph import MNGraph
from compiler.layout.image import DramImage
from compiler.report.work import OF_WINDOWS, window_macs

if TYPE_CHECKING:
    from hw.spec import ChipSpec


def lower_bound(graph: MNGraph, spec: ChipSpec) -> dict[str, float]:
    """Cycles no schedule of this graph with these layouts can beat.

    dram: every input and parameter read once and every output written once, at the DRAM bandwidth of a group.
    macs: the multiply-adds of the matrix products at the peak rate of the half-precision matrix unit.
    """
    rate = float(spec.dram_lw_per_cycle)
    moved = 0
    for name in (*graph.inputs, *graph.params, *graph.outputs):
        value = graph.values[name]
        assert value.layout is not None
        moved += DramImage(value.layout, value.dtype).lws_per_group
    macs = 0
    for node in graph.nodes:
        if node.op_type in ("Gemm", "MatMul"):
            x, y = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
            macs += int(np.prod(y.shape)) * x.shape[-1]
        elif node.op_type in OF_WINDOWS:
            macs += window_macs(node, graph)
    return {"dram": moved / rate, "macs": 2 * macs / (spec.peak_flops("half") / spec.clock_hz)}
