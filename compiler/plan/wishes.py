"""Layouts that layers would like their operands to have, before any is settled.

Layers that must spread their work well (matrix products) lead: they are asked first, in program order, so that each
can follow what the one before leaves.  Then wishes travel from the last node to the first, once forwards through layers
that work element by element, and back again: what the forward product of a network wishes for its weight also reaches
the gradient of that weight and the state its optimizer keeps, although no node reads both.
"""

from __future__ import annotations

from compiler.graph import MNGraph
from compiler.layers.registry import layer_of
from compiler.layout import Layout

Wishes = dict[str, Layout | None]


def plan_wishes(graph: MNGraph) -> Wishes:
    """The wish for each value that has one; where readers differ, the leading ones and then the first count."""
    wishes: Wishes = {}
    _forwards(graph, wishes, lead=True)
    wishes = {**_backwards(graph, wishes), **wishes}
    _forwards(graph, wishes, lead=False)
    return {**_backwards(graph, wishes), **wishes}


def _forwards(graph: MNGraph, wishes: Wishes, *, lead: bool) -> None:
    """Add what follows from the wishes for the inputs of each node."""
    for node in graph.nodes:
        if node.op_type == "Constant":
            continue
        layer = layer_of(node)
        if lead:
            _add(wishes, node.inputs, layer.lead(node, graph, [wishes.get(name) for name in node.inputs]))
        _add(wishes, node.outputs, layer.pass_on(node, graph, [wishes.get(name) for name in node.inputs]))


def _backwards(graph: MNGraph, known: Wishes) -> Wishes:
    """What follows from the wishes for the outputs of each node."""
    found: Wishes = {}
    for node in reversed(graph.nodes):
        if node.op_type == "Constant":
            continue
        wanted = [known.get(name) or found.get(name) for name in node.outputs]
        for name, wish in zip(node.inputs, layer_of(node).wish(node, graph, wanted), strict=True):
            if name and wish is not None:
                found[name] = wish
    return found


def _add(wishes: Wishes, names: list[str], asked: list[Layout | None]) -> None:
    for name, wish in zip(names, asked, strict=True):
        if name and wish is not None:
            wishes.setdefault(name, wish)
