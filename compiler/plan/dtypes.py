"""Dtype planner: which element type each FLOAT32 value has on the chip (`float_dtype`, seed 4.2.2.2).

`mixed`: Half for the operands and results of matrix products, and for what shares its type with them through layers
that keep types; Float elsewhere (a bias is Float: it is an addend of the single-precision accumulator).  `half`: Half
everywhere but there.
"""

from __future__ import annotations

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNType, OnnxType
from compiler.layers.registry import layer_of


def plan_dtypes(graph: MNGraph, float_dtype: str) -> None:
    """Set `dtype` of every value.  Raises UnsupportedOperator for policies whose matrix product has no emitter."""
    if float_dtype not in ("mixed", "half"):
        raise UnsupportedOperator(f"float_dtype={float_dtype!r} has no emitters here; use 'mixed' (default) or 'half'")
    groups: dict[str, str] = {name: name for name in graph.values}

    def root(name: str) -> str:
        while groups[name] != name:
            name = groups[name]
        return name

    half: list[str] = []
    single: set[str] = set()
    for node in graph.nodes:
        if node.op_type == "Constant":
            continue
        layer = layer_of(node)
        half += layer.half_values(node)
        single |= set(layer.single_values(node))
        first, *others = layer.same_type(node) or ("",)
        for other in others:
            groups[root(other)] = root(first)
    roots = {root(name) for name in half}
    for name, value in graph.values.items():
        if value.onnx_dtype is not OnnxType.FLOAT32:
            continue
        wants_half = float_dtype == "half" or root(name) in roots
        value.dtype = MNType.HALF if wants_half and name not in single else MNType.FLOAT
