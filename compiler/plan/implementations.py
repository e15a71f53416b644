"""Which implementation of an operator to take where there are several (CODEGEN_OP_DEF, seed 4.2.3.14)."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph
from compiler.layers.gemm import IMPLEMENTATION, TRUE_SINGLE

#: Of products of Float operands: 18 mantissa bits of both factors, or all 23 in twice the steps.
OF_PRODUCTS = ("PseudoSingle", TRUE_SINGLE)
CHOICES = {"Gemm": OF_PRODUCTS, "MatMul": OF_PRODUCTS, "Conv": OF_PRODUCTS}
#: What an operator has been opened into by then; gradients follow their operator.
OPENED = {"Conv": ("MNCoreConvolve", "MNCoreConvolveGrad")}


def choose_implementations(graph: MNGraph, asked: Mapping[str, str]) -> list[str]:
    """Mark the nodes of operators that have several implementations.

    Returns what was asked of other operators and has no effect, e.g. "CODEGEN_OP_DEF Gather", for report.json.
    Raises UnsupportedOperator for an implementation that an operator of CHOICES does not have.
    """
    for op_type, known in CHOICES.items():
        name = asked.get(op_type, known[0])
        if name not in known:
            raise UnsupportedOperator(
                f"CODEGEN_OP_DEF: {op_type} has no implementation {name!r}, use {' or '.join(known)}"
            )
        for node in graph.nodes:
            if node.op_type in OPENED.get(op_type, (op_type,)) and name != known[0]:
                node.attrs[IMPLEMENTATION] = name
    return sorted(f"CODEGEN_OP_DEF {op_type}" for op_type in asked if op_type not in CHOICES)
