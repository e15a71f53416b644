"""Ways to spread matrix products over the chip, as variants of a graph that the compiler compares by their cycles.

* plain: products by constant matrices stream them from DRAM (attribute `banks`, empty); the form of the published
  listing.
* by banks: such products in pairs, where the first computes different outputs in the two banks of each group and the
  second takes these as the parts of its K.  Each L2B then needs half of either weight, for one small sum between banks.
* by groups: the same with the roles of banks and groups exchanged, the input's rows being dealt to the banks: a quarter
  of either weight for twice the rows.  Twice: the first weight comes before or after the input.
* in local memory: all operands are brought there and spread as suits each product.

Products whose right operand is no constant are in local memory in every variant.
"""

from __future__ import annotations

import itertools
from collections import Counter

from compiler.graph import MNGraph, MNNode, MNType
from compiler.layers.registry import layer_of

PRODUCTS = ("Gemm", "MatMul")


def variants(graph: MNGraph) -> list[MNGraph]:
    """The variants that differ for this graph, the plain one first."""
    plain = graph.copy()
    streamed = [node for node in plain.nodes if node.op_type in PRODUCTS and _can_stream(graph, node)]
    if not streamed:
        return [graph]
    for node in streamed:
        node.attrs["banks"] = ""
    if not _pairs_up(plain):
        return [plain, graph]
    return [plain, _in_pairs(plain, ("N", "K")), *(_in_pairs(plain, ("gN", "gK"), ahead) for ahead in (0, 1)), graph]


def _can_stream(graph: MNGraph, node: MNNode) -> bool:
    """Whether a product is one of a matrix in half precision by a constant one that nothing else reads."""
    x, w = (graph.values[name] for name in node.inputs[:2])
    readers = Counter(name for other in graph.nodes for name in other.used)
    constant = all(name in graph.params and readers[name] == 1 for name in node.inputs[1:])
    factors = [float(node.attrs.get(name, 1.0)) for name in ("alpha", "beta")]
    columns = w.shape[0 if node.attrs.get("transB", 0) else -1]
    return (
        constant
        and len(x.shape) == len(w.shape) == 2
        and x.dtype is w.dtype is MNType.HALF
        and not node.attrs.get("transA", 0)
        and "spread" not in node.attrs
        and factors == [1.0, 1.0]
        and all(graph.values[name].shape == (columns,) for name in node.inputs[2:])
    )


def _pairs_up(graph: MNGraph) -> bool:
    """Whether the products form pairs, each feeding the next, the first of them reading an input."""
    products = [node for node in graph.nodes if node.op_type in PRODUCTS]
    if not products or len(products) % 2 or any("banks" not in node.attrs for node in products):
        return False
    if not _reads_an_input(graph, products[0]):
        return False
    return all(_feeds(graph, first, second) for first, second in itertools.pairwise(products))


def _in_pairs(graph: MNGraph, ways: tuple[str, str], ahead: int = 0) -> MNGraph:
    """The products use the L2Bs as `ways` says (`compiler.layers.streamed_gemm`); ahead: the first of each pair fetches
    its weight before its left operand.
    """
    result = graph.copy()
    for number, node in enumerate(node for node in result.nodes if node.op_type in PRODUCTS):
        node.attrs["banks"] = ways[number % 2]
        if ahead and number % 2 == 0:
            node.attrs["ahead"] = ahead
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
