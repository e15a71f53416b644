"""One layer by itself: a node with given layouts, emitted, packed, run on a board, and held against its reference."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.emit.link import emit_program
from compiler.graph import Location, MNGraph, MNNode, MNType, MNValue, OnnxType, PadType
from compiler.graph.dtypes import encode
from compiler.layers.registry import layer_of
from compiler.layout import Layout, PadLayout
from compiler.records import boards
from hw.engine import execute
from hw.state import Board
from isa.assemble import assemble

ONNX = {kind: OnnxType.INT64 if kind is MNType.INT else OnnxType.FLOAT32 for kind in MNType}


@cache
def _used_board() -> Board:
    """A board full of junk; a layer that reads what it did not write gives what no reference gives."""
    board = Board()
    board.dirty()
    return board


def one_node(
    op_type: str, shape: Sequence[int], out_shape: Sequence[int], dtypes: tuple[MNType, MNType], **attrs: Any
) -> MNGraph:
    """x -> op -> y."""
    graph = MNGraph(inputs=["x"], outputs=["y"])
    for name, dims, dtype in zip("xy", (shape, out_shape), dtypes, strict=True):
        graph.add_value(MNValue(name, ONNX[dtype], tuple(dims), dtype))
    graph.nodes.append(MNNode(op_type, op_type, ["x"], ["y"], attrs))
    return graph


def run(graph: MNGraph, layout: str, values: NDArray[Any], wish: str = "") -> tuple[NDArray[Any], NDArray[Any]]:
    """(result on the chip, reference) with the input in exactly this layout; copies on the chip must agree."""
    node, x, y = graph.nodes[0], graph.values["x"], graph.values["y"]
    layer = layer_of(node)
    wanted = PadLayout.parse(layout)
    assignment = layer.assign(node, graph, [wanted], [Layout.parse(wish) if wish else None])
    assert assignment.inputs[0] == wanted, f"the layer wants {assignment.inputs[0]}"
    x.layout, y.layout = wanted, assignment.outputs[0]
    assert not wish or y.layout.layout.equivalent(Layout.parse(wish)), f"the result lies in {y.layout}"
    for position, need in layer.padding(node, graph).items():
        assert position == 0
        x.pad_type = PadType(need.kind)
    x.place_at(Location.LM0, 0)
    if layer.delivers_in_dram(node, graph):
        y.place_at(Location.DRAM, 0)
    else:
        y.place_at(Location.LM1, 0)
    scratch = {("n" if key == "other" else key): 2 * y.num_lw + 4 for key in layer.scratch(node, graph)}
    raw = encode(values, x.dtype)
    board = _used_board()
    boards.store(board, x, raw)
    execute(assemble(emit_program(graph, [scratch])), board)
    return boards.load(board, y), layer.reference(node, graph, [raw])[0]


def check(graph: MNGraph, layout: str, values: NDArray[Any], wish: str = "") -> NDArray[Any]:
    """The result (laid out as wished), which agrees with the reference bit for bit."""
    got, want = run(graph, layout, values, wish)
    np.testing.assert_array_equal(got, want, err_msg=layout)
    return got


