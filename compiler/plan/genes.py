"""Gene labels: what an axis means to the matrix products around it (compiler.md 4 and 7.2).

N batch, C channel, WC weight channel, Nr a batch axis whose channels were reduced away.  They are set at matrix
products and row reductions and carried through layers that keep shapes; a reshape keeps the label of an axis whose
extent it keeps in place.
"""

from __future__ import annotations

from compiler.graph import MNGraph, MNNode
from compiler.plan.importer import IMMEDIATES

PRODUCTS = ("Gemm", "MatMul")
ROW_REDUCTIONS = ("ArgMax", "ArgMin", "ReduceMax", "ReduceMin")


def label_genes(graph: MNGraph) -> None:
    """Fill `gene` of every value that can be told; others keep empty labels."""
    for node in graph.nodes:
        _at_source(graph, node)
    changed = True
    while changed:
        changed = any([_carry(graph, node) for node in graph.nodes])


def _set(graph: MNGraph, name: str, labels: tuple[str, ...]) -> bool:
    value = graph.values[name]
    if any(value.gene) or len(labels) != len(value.shape) or not any(labels):
        return False
    value.gene = labels
    return True


def _at_source(graph: MNGraph, node: MNNode) -> None:
    if node.op_type in PRODUCTS:
        _set(graph, node.inputs[0], ("N", "C"))
        _set(graph, node.outputs[0], ("N", "C"))
        for name in node.inputs[1:]:
            _set(graph, name, ("WC",) * len(graph.values[name].shape))
    elif node.op_type in ROW_REDUCTIONS:
        labels = ("Nr", "")
        _set(graph, node.outputs[0], labels[: len(graph.values[node.outputs[0]].shape)])


def _carry(graph: MNGraph, node: MNNode) -> bool:
    """Copy labels between the values of a node that share their leading axes; True when something was new."""
    if node.op_type in (*PRODUCTS, *ROW_REDUCTIONS, "Constant", "Transpose"):
        return False
    names = [n for k, n in enumerate(node.inputs) if n and (node.op_type, k) not in IMMEDIATES] + node.outputs
    changed = False
    for source in names:
        labels, shape = graph.values[source].gene, graph.values[source].shape
        for target in names:
            other = graph.values[target].shape
            if not any(labels) or source == target:
                continue
            if other == shape:
                changed |= _set(graph, target, labels)
            elif other and shape and other[0] == shape[0] and node.op_type not in ("ReduceSum", "ChainerCastReduceSum"):
                changed |= _set(graph, target, (labels[0], *[""] * (len(other) - 1)))
    return changed
