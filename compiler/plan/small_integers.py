"""Integers of 8 and 16 bits, e.g. the bytes of an image: on the chip they are whole 32-bit integers.

They may be moved, compared, chosen and converted; arithmetic in their own type would wrap elsewhere and is refused.
"""

from __future__ import annotations

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, OnnxType

SMALL = frozenset({OnnxType.UINT8, OnnxType.INT8, OnnxType.UINT16, OnnxType.INT16})
_MOVES = frozenset(
    {"Identity", "Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile", "Slice", "Concat"}
    | {"Split", "Gather", "GatherElements", "Pad", "Where", "Max", "Min", "ReduceMax", "ReduceMin", "Constant"}
    | {"MNCoreGather", "MNCoreStreamGather"}
)


def check_small_integers(graph: MNGraph) -> None:
    """Raise UnsupportedOperator for a node that calculates in a small integer type, or converts numbers into one."""
    for node in graph.nodes:
        if node.op_type in _MOVES:
            continue
        for name in node.outputs:
            kind = graph.values[name].onnx_dtype if name else None
            truth = node.op_type == "Cast" and graph.values[node.inputs[0]].onnx_dtype is OnnxType.BOOL
            if kind in SMALL and not truth:
                raise UnsupportedOperator(
                    f"{node.op_type} {name!r}: arithmetic in {kind} has no emitter, integers of the chip have 32 bits; "
                    "convert to int32 or float first"
                )
