"""What a layer has to do, whatever code does it: operations, DRAM traffic, and the peak that bounds its arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.graph import Location, MNGraph, MNNode, MNType
from compiler.layout.image import DramImage

if TYPE_CHECKING:
    from hw.spec import ChipSpec

#: Products into which convolutions and their gradients are opened.
OF_WINDOWS = ("MNCoreConvolve", "MNCoreConvolveGrad")
MATRIX_OPERATORS = frozenset({"Gemm", "MatMul", "Conv", *OF_WINDOWS})
BYTES_PER_LW = 8
_PRECISION = {MNType.HALF: "half", MNType.DOUBLE: "double", MNType.LONG: "double", MNType.ULONG: "double"}


@dataclass(frozen=True, slots=True)
class LayerWork:
    """flops: as in `flops` of the report.  dram_bytes: every DRAM value that the layer reads or writes, once.

    peak: operations per cycle of the board in the unit and precision of the layer.
    """

    flops: int
    dram_bytes: int
    peak: float


def layer_work(graph: MNGraph, spec: ChipSpec) -> dict[str, LayerWork]:
    """Work of every node of a planned graph, by the text that names its layer in the program."""
    groups = spec.integer("topology.groups")
    return {
        str(node): LayerWork(node_flops(node, graph), dram_bytes(node, graph, groups), node_peak(node, graph, spec))
        for node in graph.nodes
    }


def node_flops(node: MNNode, graph: MNGraph) -> int:
    """Operations of a node by the rule for its ONNX operator; moves that the compiler put in are free."""
    from compiler.pfvm.operators import OPERATORS, Charged

    if node.op_type in OF_WINDOWS:
        bias = len(node.inputs) > 2
        return 2 * window_macs(node, graph) + bias * math.prod(graph.values[node.outputs[0]].shape)
    operator = OPERATORS.get(("", node.op_type)) or OPERATORS.get(("mncore", node.op_type))
    if operator is None:
        return 0
    inputs = [graph.values[name].shape if name else None for name in node.inputs]
    return operator.charge(Charged(inputs, [graph.values[name].shape for name in node.outputs], node.attrs))


def window_macs(node: MNNode, graph: MNGraph) -> int:
    """Multiply-adds of a product in OF_WINDOWS: each element of the first operand meets a row of the other axis."""
    left, out = (graph.values[name].shape for name in (node.inputs[0], node.outputs[0]))
    return math.prod(left) * out[-1]


def dram_bytes(node: MNNode, graph: MNGraph, groups: int) -> int:
    """Bytes of the DRAM images, in all groups, of what a node reads and writes there."""
    total = 0
    for name in dict.fromkeys((*node.used, *node.outputs)):
        value = graph.values[name]
        if value.loc is Location.DRAM and value.layout is not None:
            total += DramImage(value.layout, value.dtype).lws_per_group * groups * BYTES_PER_LW
    return total


def node_peak(node: MNNode, graph: MNGraph, spec: ChipSpec) -> float:
    """Operations per cycle at best: half-precision matrices for matrix products, otherwise vectors of the result."""
    mode, precision = "vector", _PRECISION.get(graph.values[node.outputs[0]].dtype, "single")
    if node.op_type in MATRIX_OPERATORS:
        mode, precision = "matrix", "half"  # all emitters multiply halves
    return spec.peak_flops(precision, mode) / spec.clock_hz
