"""Fused updates taken apart again, for the rule `half`: it decides for every operator whether it computes in halves."""

from __future__ import annotations

from dataclasses import replace

from compiler.chain import CHAINS, Chain
from compiler.graph import MNGraph, MNNode
from compiler.layers.elementwise import scalars


def unfuse(graph: MNGraph) -> None:
    """Replace the nodes that carry chains by the operators of the chains, in place; element types are not settled."""
    nodes, graph.nodes = graph.nodes, []
    for node in nodes:
        if node.op_type in CHAINS:
            _open(graph, node)
        else:
            graph.nodes.append(node)


def _open(graph: MNGraph, node: MNNode) -> None:
    chain, numbers = Chain.of(node.attrs), scalars(node)
    results = dict(zip(chain.results, node.outputs, strict=True))
    names = dict(enumerate(node.inputs))
    for number, link in enumerate(chain.links, len(node.inputs)):
        name = results.get(number)
        if name is None:
            name = graph.fresh_name(node.outputs[-1], link.op_type)
            graph.add_value(replace(graph.values[node.outputs[-1]], name=name))
        names[number] = name
        given = {place: numbers[n] for place, n in enumerate(link.operands) if n in numbers}
        attrs = {"scalars": given} if given else {}
        graph.nodes.append(MNNode(link.op_type, name, [names[n] for n in link.operands], [name], attrs))
