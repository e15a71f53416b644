"""The operators with which an optimizer updates one parameter and its states become one (seed 4.2.3.34).

An update ends in the output that holds the parameter's new contents.  From there the pass goes back through arithmetic
on elements, as long as nothing else reads what it takes in; new states that nothing else made become outputs too.  It
stops where the gradient comes from: operators that read no tensor of the program, directly or through others, are
taken only while they make one value of one other and of scalars.
"""

from __future__ import annotations

import onnx_ir as ir

from compiler.chain import STEP_OPERATORS, Chain, Link
from compiler.frontend.naming import update_name
from compiler.pfvm.operators.optimizers import DOMAIN, VERSION, classify
from compiler.pfvm.passes.edit import constant_of, is_parameter
from compiler.pfvm.program import static_shape


def fuse_optimizers(model: ir.Model) -> int:
    """Returns the number of updates fused."""
    outputs = {value.name: value for value in model.graph.outputs}
    order = {node: position for position, node in enumerate(model.graph)}
    found: dict[ir.Value, set[ir.Node]] = {}
    for name, parameter in model.graph.initializers.items():
        root = outputs.get(update_name(name))
        if is_parameter(parameter) and root is not None and parameter not in found:
            found[parameter] = _update(root, order)
    whole = [nodes for nodes in found.values() if len(nodes) > 1]
    fused = 0
    for parameter, nodes in found.items():
        if len(nodes) > 1 and not any(nodes < other for other in whole):
            _fuse(model.graph, parameter, sorted(nodes, key=order.__getitem__))
            model.graph.opset_imports[DOMAIN] = VERSION
            fused += 1
    return fused


def _update(root: ir.Value, order: dict[ir.Node, int]) -> set[ir.Node]:
    """The nodes that only serve to make `root`, elements of its shape by arithmetic."""
    last = root.producer()
    if last is None or not _is_step(last, root):
        return set()
    taken = {last}
    # Against the order of execution: the readers of a value are looked at before its maker.
    for node in reversed(order):
        readers = {reader for value in node.outputs for reader, _ in value.uses()}
        if node is not last and readers and readers <= taken and _is_step(node, root):
            taken.add(node)
    return taken - _of_the_gradient(sorted(taken, key=order.__getitem__), root)


def _is_step(node: ir.Node, root: ir.Value) -> bool:
    if node.domain != "" or node.op_type not in STEP_OPERATORS or any(value is None for value in node.inputs):
        return False
    result = node.outputs[0]
    return result.dtype is root.dtype and static_shape(result) == static_shape(root) is not None


def _of_the_gradient(nodes: list[ir.Node], root: ir.Value) -> set[ir.Node]:
    """Nodes that make the gradient out of several values of its size."""
    sources: dict[ir.Value, set[ir.Value] | None] = {}  # None: the value depends on a tensor of the program
    outside: set[ir.Node] = set()
    for node in nodes:
        found: set[ir.Value] | None = set()
        for value in node.inputs:
            assert value is not None  # `_is_step` saw to it
            of_value = sources[value] if value in sources else _source(value, root)
            found = None if found is None or of_value is None else found | of_value
        result = node.outputs[0]
        sources[result] = found
        if found is not None and len(found) > 1:
            outside.add(node)
            sources[result] = {result}
    return outside


def _source(value: ir.Value, root: ir.Value) -> set[ir.Value] | None:
    if is_parameter(value):
        return None
    return {value} if static_shape(value) == static_shape(root) and constant_of(value) is None else set()


def _fuse(graph: ir.Graph, parameter: ir.Value, nodes: list[ir.Node]) -> None:
    """Put one node in the place of the last of `nodes`, which stand in their order; the last one makes the parameter's
    new contents.
    """
    made = {node.outputs[0] for node in nodes}
    inputs = list(dict.fromkeys([parameter, *(v for node in nodes for v in node.inputs if v not in made)]))
    number = {value: position for position, value in enumerate([*inputs, *(node.outputs[0] for node in nodes)])}
    links = [Link(node.op_type, tuple(number[value] for value in node.inputs)) for node in nodes]
    kept = [node.outputs[0] for node in nodes if node is nodes[-1] or node.outputs[0].is_graph_output()]
    chain = Chain(tuple(links), tuple(number[value] for value in kept))
    new = ir.node(classify(chain, 0), inputs, chain.attributes(), domain=DOMAIN, num_outputs=len(kept))
    new.name = kept[-1].name
    new.metadata_props.update(nodes[-1].metadata_props)
    graph.insert_before(nodes[-1], new)
    for was, now in zip(kept, new.outputs, strict=True):
        now.type, now.shape = was.type, was.shape
        now.name, was.name = was.name, None
        ir.convenience.replace_all_uses_with(was, now, replace_graph_outputs=True)
    for node in reversed(nodes):
        graph.remove(node, safe=True)
