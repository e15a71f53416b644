"""The graph that the compiler's passes work on, its text form and its element types (compiler.md 4)."""

from compiler.graph.dtypes import decode, encode, fill_bits
from compiler.graph.errors import DtypeError, GraphError, L3irError
from compiler.graph.graph import MNGraph, MNNode
from compiler.graph.l3ir import parse_l3ir, to_l3ir
from compiler.graph.mntype import MNType, OnnxType
from compiler.graph.value import Location, LocKind, MNValue, PadType

__all__ = [
    "DtypeError",
    "GraphError",
    "L3irError",
    "LocKind",
    "Location",
    "MNGraph",
    "MNNode",
    "MNType",
    "MNValue",
    "OnnxType",
    "PadType",
    "decode",
    "encode",
    "fill_bits",
    "parse_l3ir",
    "to_l3ir",
]
