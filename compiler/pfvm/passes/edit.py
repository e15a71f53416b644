"""Edits that several passes share: constants, replacing a node by a value, marks on initializers."""

from __future__ import annotations

import onnx_ir as ir

from compiler.frontend.roles import PARAMETER, ROLE_KEY


def is_parameter(value: ir.Value | None) -> bool:
    """True for an initializer whose contents may change between calls."""
    return value is not None and value.is_initializer() and value.metadata_props.get(ROLE_KEY) == PARAMETER


def constant_of(value: ir.Value | None) -> ir.TensorProtocol | None:
    """The contents of an initializer that can never change, else None.

    An initializer that is also a graph input has only a default, which a caller may replace.
    """
    if value is None or not value.is_initializer() or value.is_graph_input() or is_parameter(value):
        return None
    return value.const_value


def constant_ints(value: ir.Value | None) -> list[int] | None:
    """The contents of a constant list of integers, else None."""
    tensor = constant_of(value)
    return None if tensor is None else [int(v) for v in tensor.numpy().reshape(-1)]


def sole_reader(value: ir.Value) -> ir.Node | None:
    """The node that reads `value` if there is exactly one read and the value is not an output of the graph."""
    uses = value.uses()
    if len(uses) != 1 or value.is_graph_output():
        return None
    return next(iter(uses)).node


def replace_by_value(node: ir.Node, value: ir.Value) -> bool:
    """Let the readers of a node's one output read `value` instead and remove the node.

    A graph output hands its name on to `value`.  False, and nothing is done, where that is not possible: `value` has
    a name that must stay.
    """
    output, graph = node.outputs[0], node.graph
    assert graph is not None  # passes only see nodes of a graph
    if output.is_graph_output():
        if value.is_graph_output() or value.is_graph_input() or value.is_initializer():
            return False
        name = output.name
        output.name = None
        value.name = name
    ir.convenience.replace_all_uses_with(output, value, replace_graph_outputs=True)
    graph.remove(node, safe=True)
    return True


def replace_by_node(old: ir.Node, new: ir.Node) -> None:
    """Put `new` (one output) in the place of `old`, with the name, type and user line of `old`."""
    graph = old.graph
    assert graph is not None  # passes only see nodes of a graph
    was, now = old.outputs[0], new.outputs[0]
    now.type, now.shape = was.type, was.shape
    now.name, was.name = was.name, None
    new.name = now.name
    for key, text in old.metadata_props.items():
        new.metadata_props.setdefault(key, text)
    graph.insert_before(old, new)
    ir.convenience.replace_all_uses_with(was, now, replace_graph_outputs=True)
    graph.remove(old, safe=True)
