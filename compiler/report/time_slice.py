"""time_slice.txt and time_slice.json: the graph just before the slices fork.

The text is the l3ir form of the scheduled template, in which a cut value has its full shape and a Time digit.  The data
behind time_slice.html lists the regions and the layout of every cut value.  Source: compiler.md 2.
"""

from __future__ import annotations

from typing import Any

from compiler.graph import MNGraph, MNNode
from compiler.layout import PadLayout
from compiler.layout.time import with_time
from compiler.plan.fork import Piece, Template

#: Node types whose result has the shape of their first input and the same cut.
_CARRY = frozenset(
    {
        "MNCoreDownload",
        "MNCoreUpload",
        "MNCoreBankDownload",
        "MNCoreDealtDownload",
        "MNCoreLayoutSwitch",
        "MNCoreRefillPadding",
        "Identity",
    }
)


def before_fork(template: Template, scheduled: MNGraph) -> MNGraph:
    """The scheduled template with every sliced value as the whole that it stands for, without addresses."""
    graph = scheduled.copy()
    pieces = _all_pieces(template, graph)
    for name, piece in pieces.items():
        value = graph.values[name]
        if piece.axis is None or value.layout is None:
            continue
        axis = piece.axis
        shape = (*value.shape[:axis], piece.extent, *value.shape[axis + 1 :])
        value.layout = with_time(value.layout.layout, axis, shape)
        value.shape = shape
    for value in graph.values.values():
        value.addr = None
    return _renamed(template, graph)


def slices_document(template: Template | None, planned: MNGraph) -> dict[str, Any]:
    """Plain data: regions (number, slices, nodes), and per cut value its shape, axis, slices, layout and long words."""
    if template is None:
        return {"regions": [], "values": []}
    regions: dict[int, dict[str, Any]] = {}
    values: list[dict[str, Any]] = []
    for node in planned.nodes:
        number = template.block_of.get(node.outputs[0])
        if number is not None:
            slices = next(template.pieces[n].slices for n in (*node.used, *node.outputs) if n in template.pieces)
            region = regions.setdefault(number, {"number": number, "slices": slices, "nodes": []})
            region["nodes"].append({"op": node.op_type, "makes": template.origin[node.outputs[0]]})
    for name, piece in template.pieces.items():
        value = planned.values[name]
        assert value.layout is not None
        layout: PadLayout = value.layout
        if piece.axis is not None:
            shape = (*value.shape[: piece.axis], piece.extent, *value.shape[piece.axis + 1 :])
            layout = with_time(layout.layout, piece.axis, shape)
        values.append(
            {
                "name": template.source[name],
                "shape": list(layout.shape),
                "dtype": str(value.dtype),
                "axis": piece.axis,
                "slices": piece.slices,
                "layout": str(layout.layout),
                "num_lw": layout.num_lw,
            }
        )
    return {"regions": list(regions.values()), "values": values}


def _all_pieces(template: Template, graph: MNGraph) -> dict[str, Piece]:
    """The template's pieces in a scheduled graph, with the copies that planners made of them."""
    pieces = {name: piece for name, piece in template.pieces.items() if name in graph.values}
    for node in graph.nodes:
        if node.op_type in _CARRY and node.inputs[0] in pieces:
            pieces |= dict.fromkeys(node.outputs, pieces[node.inputs[0]])
    return pieces


def _renamed(template: Template, graph: MNGraph) -> MNGraph:
    """Pieces and their copies named after the values that they stand for, where these do not occur themselves."""
    used = {name for node in graph.nodes for name in (*node.used, *node.outputs)}
    names: dict[str, str] = {}
    for piece, source in template.source.items():
        if source not in used:
            names |= {name: source + name[len(piece) :] for name in graph.values if name.startswith(piece)}
    result = MNGraph()
    for node in graph.nodes:
        inputs = [names.get(name, name) for name in node.inputs]
        outputs = [names.get(name, name) for name in node.outputs]
        result.nodes.append(MNNode(node.op_type, node.name, inputs, outputs, dict(node.attrs)))
    for name in used:
        value = graph.values[name]
        value.name = names.get(name, name)
        value.parent = names.get(value.parent, value.parent) if value.parent is not None else None
        result.values[value.name] = value
    made = {name for node in result.nodes for name in node.outputs}
    result.inputs = [name for name in result.values if name not in made]
    result.outputs = [names.get(name, name) for name in graph.outputs]
    return result
