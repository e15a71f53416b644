"""Ways to spread matrix products over the chip, as variants of a graph that the compiler compares by their cycles.

The variant by banks pairs products: the first computes different outputs in the two banks of each group, the second
takes these as the parts of its K.  Each L2B then needs half of either weight, for one small sum between banks.
"""

from __future__ import annotations

import itertools
from collections import Counter

from compiler.graph import MNGraph, MNNode
from compiler.layers.registry import layer_of

PRODUCTS = ("Gemm", "MatMul")


def variants(graph: MNGraph) -> list[MNGraph]:
    """The graph as it is, and the one by banks where it has pairs of products that qualify."""
    banked = _by_banks(graph)
    return [graph] if banked is None else [graph, banked]


def _by_banks(graph: MNGraph) -> MNGraph | None:
    result = graph.copy()
    products = [node for node in result.nodes if node.op_type in PRODUCTS]
    if not products or len(products) % 2 or not _reads_an_input(result, products[0]):
        return None
    for first, second in itertools.pairwise(products):
        if not _feeds(result, first, second):
            return None
    for number, node in enumerate(products):
        node.attrs["banks"] = "NK"[number % 2]
    return result


def _reads_an_input(graph: MNGraph, product: MNNode) -> bool:
    """Whether the left operand is an input of the graph, seen at most through nodes that move nothing."""
    made_by = {name: node for node in graph.nodes for name in node.outputs}
    name = product.inputs[0]
    while name in made_by and layer_of(made_by[name]).alias:
        name = made_by[name].inputs[0]
    return name in graph.inputs


def _feeds(graph: MNGraph, first: MNNode, second: MNNode) -> bool:
    """Whether the second product alone reads the first one's result, directly or through one-to-one layers."""
    readers = Counter(name for node in graph.nodes for name in node.used)
    made_by = {name: node for node in graph.nodes for name in node.outputs}
    name = second.inputs[0]
    while name in made_by and made_by[name] is not first:
        node = made_by[name]
        if readers[name] != 1 or name in graph.outputs or len(node.inputs) != 1 or not layer_of(node).same_type(node):
            return False
        name = node.inputs[0]
    return name in made_by and readers[name] == 1 and name not in graph.outputs
