"""The operators with which an optimizer updates one parameter and its states become one (seed 4.2.3.34).

An update ends in the output that holds the parameter's new contents.  From there the pass goes back through arithmetic
on elements, as long as nothing else reads what it takes in; new states that nothing else made become outputs too.  It
stops where the gradient comes from: operators that read no tensor of the program, directly or through others, are
taken only while they make one value of one other and of scalars.  Scalars that only such an update reads, and what they
are made of, become one more operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import onnx_ir as ir

from compiler.chain import RATES, STEP_OPERATORS, Chain, Link
from compiler.domain import DOMAIN, VERSION
from compiler.frontend.naming import update_name
from compiler.pfvm.operators.optimizers import classify
from compiler.pfvm.passes.edit import constant_of, is_parameter
from compiler.pfvm.program import static_shape


def fuse_optimizers(model: ir.Model) -> int:
    """Returns the number of updates fused."""
    outputs = {value.name: value for value in model.graph.outputs}
    order = {node: position for position, node in enumerate(model.graph)}
    found: dict[ir.Value, list[ir.Node]] = {}
    for name, parameter in model.graph.initializers.items():
        root = outputs.get(update_name(name))
        nodes = _update(root, order) if is_parameter(parameter) and root is not None else []
        if len(nodes) > 1:
            found[parameter] = nodes
    fused = 0
    # An update takes in those of its states, and scalars after that: the large ones come first, and those that lost a
    # node to them are done.
    for parameter, nodes in sorted(found.items(), key=lambda item: (-math.prod(item[0].shape or ()), -len(item[1]))):
        if any(node.graph is None for node in nodes):
            continue
        update = _fuse(nodes, parameter)
        rates = _before(update, order, lambda node: _is_arithmetic(node) and static_shape(node.outputs[0]) == ())
        if len(rates) > 1:
            _fuse(rates, None)
        model.graph.opset_imports[DOMAIN] = VERSION
        fused += 1
    return fused


def _before(last: ir.Node, order: dict[ir.Node, int], fits: Callable[[ir.Node], bool]) -> list[ir.Node]:
    """The nodes before `last` that fit and that nothing reads but it and each other, in their order."""
    taken, seen, waiting = {last}, {last}, [last]
    while waiting:
        # The latest first: the readers of a value are looked at before its maker.
        node = max(waiting, key=lambda each: order.get(each, len(order)))
        waiting.remove(node)
        if node is not last:
            readers = {reader for value in node.outputs for reader, _ in value.uses()}
            if not readers <= taken or not fits(node):
                continue
            taken.add(node)
        makers = [maker for value in node.inputs if value is not None if (maker := value.producer()) is not None]
        waiting += [maker for maker in dict.fromkeys(makers) if maker not in seen]
        seen.update(makers)
    return sorted(taken - {last}, key=order.__getitem__)


def _update(root: ir.Value, order: dict[ir.Node, int]) -> list[ir.Node]:
    """The nodes that only serve to make `root`, elements of its shape by arithmetic, in their order."""
    last = root.producer()
    if last is None or not _is_step(last, root):
        return []
    taken = [*_before(last, order, lambda node: _is_step(node, root)), last]
    outside = _of_the_gradient(taken, root)
    # What the gradient is made of belongs to it, also where it has one source itself: else the update would need a
    # value that needs the update.
    for node in reversed(taken):
        if any(reader in outside for value in node.outputs for reader, _ in value.uses()):
            outside.add(node)
    return [node for node in taken if node not in outside]


def _is_arithmetic(node: ir.Node) -> bool:
    known = node.domain == "" and node.op_type in STEP_OPERATORS
    return known and all(value is not None and value.dtype is ir.DataType.FLOAT for value in node.inputs)


def _is_step(node: ir.Node, root: ir.Value) -> bool:
    return _is_arithmetic(node) and static_shape(node.outputs[0]) == static_shape(root)


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


def _fuse(nodes: list[ir.Node], parameter: ir.Value | None) -> ir.Node:
    """Put one node in the place of the last of `nodes`, which stand in their order.

    Its outputs are what others read and the outputs of the graph, in the order in which they are made.  parameter: what
    the last one makes the new contents of; None: the nodes make scalars.
    """
    graph = nodes[-1].graph
    assert graph is not None  # passes only see nodes of a graph
    made = [node.outputs[0] for node in nodes]
    first = [] if parameter is None else [parameter]
    inputs = list(dict.fromkeys([*first, *(value for node in nodes for value in node.inputs if value not in made)]))
    number = {value: position for position, value in enumerate([*inputs, *made])}
    links = [Link(node.op_type, tuple(number[value] for value in node.inputs)) for node in nodes]
    kept = [v for v in made if v.is_graph_output() or not {reader for reader, _ in v.uses()} <= set(nodes)]
    chain = Chain(tuple(links), tuple(number[value] for value in kept))
    op_type = RATES if parameter is None else classify(chain, 0)
    new = ir.node(op_type, inputs, chain.attributes(), domain=DOMAIN, num_outputs=len(kept))
    new.name = kept[-1].name
    new.metadata_props.update(nodes[-1].metadata_props)
    graph.insert_before(nodes[-1], new)
    for was, now in zip(kept, new.outputs, strict=True):
        now.type, now.shape = was.type, was.shape
        now.name, was.name = was.name, None
        ir.convenience.replace_all_uses_with(was, now, replace_graph_outputs=True)
    for node in reversed(nodes):
        graph.remove(node, safe=True)
    return new
