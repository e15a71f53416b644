"""Edits on a traced ATen graph: updates of states become results, artefacts of tracing and dead code go away."""

from __future__ import annotations

import operator

import torch
from torch.fx import Graph, Node

_aten = torch.ops.aten

# The same memory under another name.
_ALIASES = frozenset({_aten.detach.default, _aten.alias.default})

# A copy that only matters where its source or itself is written to.
_COPIES = frozenset({_aten.lift_fresh_copy.default})

# One Python call gives several results of which each becomes an ONNX node of its own.  The exported graph keeps the
# ones that the program ignores, as the vendor's does (seed 3.1.1: the unused ReduceMax of torch.max).
_KEEP_ALL_RESULTS = frozenset({_aten.max.dim, _aten.min.dim})


def has_mutations(graph: Graph) -> bool:
    """True if an operator writes to one of its arguments."""
    return any(
        isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable for node in graph.nodes
    )


def take_updates(graph: Graph) -> dict[Node, Node]:
    """Remove the `copy_(placeholder, value)` nodes that functionalisation leaves; placeholder -> its final value."""
    updates: dict[Node, Node] = {}
    for node in list(graph.nodes):
        if node.target is _aten.copy_.default and node.args[0].op == "placeholder":
            updates[node.args[0]] = node.args[1]
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    return updates


def drop_tracing_artefacts(graph: Graph, *, functional: bool) -> None:
    """Remove profiler marks and nodes that pass their input on; `functional` = nothing is written in place any more."""
    pass_through = _ALIASES | _COPIES if functional else _ALIASES
    for node in reversed(list(graph.nodes)):
        if isinstance(node.target, torch._ops.OpOverload) and node.target.namespace == "profiler":
            graph.erase_node(node)
        elif node.target in pass_through:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def drop_dead_code(graph: Graph, updates: list[Node]) -> int:
    """Append `updates` and ignored sibling results to the output, drop everything else that is unused.

    Returns the number of siblings (see _KEEP_ALL_RESULTS).
    """
    output = next(node for node in reversed(graph.nodes) if node.op == "output")
    results = (*output.args[0], *updates)
    live = _live(results)
    siblings = [
        node
        for node in graph.nodes
        if node.target is operator.getitem
        and node not in live
        and node.args[0] in live
        and node.args[0].target in _KEEP_ALL_RESULTS
    ]
    output.args = ((*results, *siblings),)
    for node in reversed(list(graph.nodes)):
        if node.op in ("call_function", "get_attr") and not node.users:
            graph.erase_node(node)
    return len(siblings)


def _live(results: tuple[Node, ...]) -> set[Node]:
    live: set[Node] = set()
    todo = [node for node in results if isinstance(node, Node)]
    while todo:
        node = todo.pop()
        if node not in live:
            live.add(node)
            todo.extend(node.all_input_nodes)
    return live
