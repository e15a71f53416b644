"""Products of operands that lie in plain order are taken as they lie; results bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.emit.link import emit_program
from compiler.graph import Location, MNGraph, MNNode, MNType, MNValue, OnnxType
from compiler.graph.dtypes import encode
from compiler.layers.registry import layer_of
from compiler.layout import PadLayout
from compiler.records import boards
from hw.engine import execute
from hw.state import Board
from isa.assemble import assemble

FLOAT, HALF = MNType.FLOAT, MNType.HALF


def _graph(left: str, right: str, dtype: MNType, trans: tuple[int, int], **attrs: str) -> MNGraph:
    graph = MNGraph(inputs=["a", "b"], outputs=["c"])
    a, b = PadLayout.parse(left), PadLayout.parse(right)
    rows, columns = a.shape[::-1][0] if trans[0] else a.shape[0], b.shape[0] if trans[1] else b.shape[1]
    for name, shape, layout in (("a", a.shape, a), ("b", b.shape, b), ("c", (rows, columns), None)):
        graph.add_value(MNValue(name, OnnxType.FLOAT32, shape, dtype, layout))
    node = MNNode("Gemm", "Gemm", ["a", "b"], ["c"], {"transA": trans[0], "transB": trans[1], **attrs})
    graph.nodes.append(node)
    return graph


@pytest.mark.parametrize("implementation", ["PseudoSingle", "Single"])
@pytest.mark.parametrize(
    ("left", "right", "dtype", "trans", "result"),
    [
        (
            "(5,16)/((5:2), (2:1, 4_PE:1, 2_W:1))",
            "(24,16)/((24:2), (2:1, 4_PE:1, 2_W:1))",
            FLOAT,
            (0, 1),
            "(5,24)/((5:3), (3:1, 4_PE:1, 2_W:1))",
        ),
        (
            "(256,8)/((8_L2B:1, 4:1, 8_L1B:1), (4_PE:1, 2_W:1))",
            "(8,16)/((8:2), (2:1, 4_PE:1, 2_W:1))",
            FLOAT,
            (0, 0),
            "(256,16)/((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))",
        ),
        (
            "(64,16)/((16_MAB:1, 2:2, 2:4), (2:1, 4_PE:1, 2_W:1))",
            "(8,16)/((8:2), (2:1, 4_PE:1, 2_W:1))",
            FLOAT,
            (0, 1),
            "(64,8)/((16_MAB:1, 2:1, 2:2), (4_PE:1, 2_W:1))",
        ),
        (
            "(24,16)/((24:2), (2:1, 4_PE:1, 2_W:1))",
            "(24,8)/((24:1), (4_PE:1, 2_W:1))",
            FLOAT,
            (1, 0),
            "(16,8)/((16:1), (4_PE:1, 2_W:1))",
        ),
        (
            "(7,32)/((7:2), (2:1, 4_PE:1, 4_W:1))",
            "(32,16)/((32:1), (4_PE:1, 4_W:1))",
            HALF,
            (0, 0),
            "(7,16)/((7:1), (4_PE:1, 4_W:1))",
        ),
    ],
    ids=["trb", "rows over levels", "rows over mabs", "tra", "half"],
)
def test_taken_as_they_lie(
    left: str, right: str, dtype: MNType, trans: tuple[int, int], result: str, implementation: str
) -> None:
    graph = _graph(left, right, dtype, trans, implementation=implementation)
    node = graph.nodes[0]
    layer = layer_of(node)
    a, b, c = (graph.values[name] for name in "abc")
    taken = layer.assign(node, graph, [a.layout, b.layout], [PadLayout.parse(result).layout])
    assert taken.inputs == (a.layout, b.layout)
    assert taken.outputs[0].equivalent(PadLayout.parse(result))
    c.layout = taken.outputs[0]
    a.place_at(Location.LM0, 0)
    b.place_at(Location.LM0, 2 * a.num_lw)
    c.place_at(Location.LM1, 0)
    rng = np.random.default_rng(3)
    drawn = [rng.standard_normal(value.shape) * 4.0 ** rng.integers(-3, 3, value.shape) for value in (a, b)]
    raw = [encode(numbers, dtype) for numbers in drawn]
    board = Board()
    for value, bits in zip((a, b), raw, strict=True):
        boards.store(board, value, bits)
    scratch = {"n": 2 * c.num_lw + 4}
    execute(assemble(emit_program(graph, [scratch])), board)
    np.testing.assert_array_equal(boards.load(board, c), layer.reference(node, graph, raw)[0])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("(8,12)/((8:2), (2:1, 4_PE:1, 2_W:1))", "(8,12)/((8:2), (2:1, 4_PE:1, 2_W:1))"),
        ("(8,8)/((8:1), (2_W:1, 4_PE:1))", "(8,8)/((8:1), (2_W:1, 4_PE:1))"),
        ("(8,8)/((8:1), (4_PE:1, 2_W:1))", "(64,8)/((8_L1B:1, 8:1), (4_PE:1, 2_W:1))"),
    ],
    ids=["padded", "PEs first", "right over levels"],
)
def test_others_keep_their_own_layouts(left: str, right: str) -> None:
    graph = _graph(left, right, FLOAT, (0, 1))
    node = graph.nodes[0]
    a, b = (graph.values[name].layout for name in "ab")
    taken = layer_of(node).assign(node, graph, [a, b], [None]).outputs[0]
    assert taken.layout.axes[-1].subaxes[-1].level.name == "PE"
