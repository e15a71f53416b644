"""All layers by operator name; an unknown operator is refused with its name, its place and the nearest known one."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module

from compiler.errors import UnsupportedOperator
from compiler.graph import MNNode
from compiler.layers.base import Layer

MODULES = (
    "argmax",
    "cast",
    "chain",
    "elementwise",
    "gather",
    "gemm",
    "image_product",
    "index_move",
    "moves",
    "padding",
    "reduce",
    "reshape_move",
    "shape",
    "slices",
    "switch",
    "windows",
)


@cache
def layers() -> dict[str, Layer]:
    """Operator type -> layer."""
    found: dict[str, Layer] = {}
    for name in MODULES:
        module = import_module(f"compiler.layers.{name}")
        for layer in module.LAYERS:
            for op_type in layer.op_types:
                found[op_type] = layer
    return found


def layer_of(node: MNNode) -> Layer:
    """The layer of a node.  Raises UnsupportedOperator."""
    known = layers()
    if node.op_type in known:
        return known[node.op_type].variant(node)
    near = difflib.get_close_matches(node.op_type, known, n=1)
    hint = f"; nearest known operator: {near[0]}" if near else ""
    raise UnsupportedOperator(
        f"operator {node.op_type} (node {node.name or node.outputs[0]!r}) has no emitter for the chip{hint} "
        "(docs/operators.md lists those that have)"
    )
