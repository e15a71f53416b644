"""MNGraph: definitions and uses, values that contradict themselves, aliases, names, copies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler.graph import GraphError, Location, LocKind, MNGraph, MNNode, MNType, MNValue, OnnxType
from compiler.layout import PadLayout

LAYOUT = PadLayout.parse("(8,16)/((8_L2B:1), (2:1, 4_PE:1, 2_W:1); B@[MAB,L1B])")


def value(name: str, **fields: object) -> MNValue:
    """A Float value of shape (8, 16) with the layout above."""
    made = MNValue(name, OnnxType.FLOAT32, (8, 16), MNType.FLOAT, LAYOUT)
    for field, content in fields.items():
        setattr(made, field, content)
    return made


def chain() -> MNGraph:
    """x (DRAM) -> Download -> Relu -> Reshape-like alias; w is a parameter."""
    graph = MNGraph(inputs=["x"], outputs=["z"], params=["w"])
    for made in (value("x"), value("w"), value("a"), value("y"), value("z")):
        graph.add_value(made)
    graph.values["x"].place_at(Location.DRAM, 1024)
    graph.values["a"].place_at(Location.LM0, 0)
    graph.values["y"].place_at(Location.LM1, 4)
    graph.values["z"].place_at(Location.LM1, 4)
    graph.values["z"].parent = "y"
    graph.nodes = [
        MNNode("MNCoreDownload", "d", ["x"], ["a"]),
        MNNode("Add", "s", ["a", "w", "a"], ["y"]),
        MNNode("Reshape", "r", ["y"], ["z"], {"allowzero": 0}),
    ]
    return graph


def test_a_sound_graph() -> None:
    graph = chain()
    graph.verify()
    assert graph.producers() == {"a": 0, "y": 1, "z": 2}
    assert graph.uses() == {"x": [0], "w": [1], "a": [1], "y": [2], "z": []}
    assert graph.owner("z") is graph.values["y"]
    assert str(graph.nodes[2]) == "Reshape(y, allowzero) -> (z)"


def _swap(graph: MNGraph) -> None:
    graph.nodes[0], graph.nodes[1] = graph.nodes[1], graph.nodes[0]


def _set(name: str, **fields: object) -> Callable[[MNGraph], None]:
    def change(graph: MNGraph) -> None:
        for field, content in fields.items():
            setattr(graph.values[name], field, content)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_swap, r"node 0 Add\(a, w, a\) -> \(y\) uses a, which is made only by node 1"),
        (lambda g: g.params.clear(), "uses w, which is never defined"),
        (lambda g: g.nodes[1].inputs.__setitem__(0, "aa"), r"uses aa, which is never defined; did you mean 'a'\?"),
        (lambda g: g.nodes[1].outputs.append("x"), "x is defined twice: by the graph's inputs and by node 1"),
        (lambda g: g.nodes[1].outputs.append("q"), r"q, defined by node 1 .*, is no value of the graph"),
        (lambda g: g.outputs.append("q"), "output q is never defined"),
        (lambda g: g.add_value(value("q")), "value q is never defined"),
        (lambda g: g.values.__setitem__("a", value("b")), "value b is filed under the name a"),
        (_set("a", gene=("N",)), "value a: 1 gene labels for 2 axes"),
        (_set("a", shape=(8, 15)), r"value a: layout is for shape \(8, 16\), the value has \(8, 15\)"),
        (_set("a", dtype=MNType.DOUBLE), "value a: 2_W:1: reaches position 1 of W, whose 1 members"),
        (_set("w", constant=np.zeros(3)), r"value w: constant has shape \(3,\), the value has \(8, 16\)"),
        (_set("a", loc_kind=LocKind.DRAM), "value a: loc_kind DRAM does not fit loc LM0"),
        (_set("a", addr=2), r"value a: LM address 2 is no multiple of 4 words \(two long words\)"),
        (_set("a", addr=4096), r"value a: words 4096..4099 lie outside LM0, which has 4096 words"),
        (_set("x", addr=1 << 29), r"value x: DRAM address 536870912 outside 0..536870911"),
        (_set("w", addr=0), r"value w: address 0 without a memory \(loc None\)"),
        (_set("z", addr=8), "value z at LM1 8 shares the memory of y, which lies at LM1 4"),
        (_set("y", parent="z"), "values y -> z -> y are each other's parents"),
        (_set("z", parent="yy"), r"value z: the graph has no value 'yy'; did you mean 'y'\?"),
    ],
)
def test_problems_are_named(change: Callable[[MNGraph], object], message: str) -> None:
    graph = chain()
    change(graph)
    with pytest.raises(GraphError, match=message):
        graph.verify()


def test_all_problems_come_together() -> None:
    graph = chain()
    graph.outputs.append("q")
    graph.values["a"].addr = 2
    assert len(graph.problems()) == 2
    with pytest.raises(GraphError, match=r"the graph has 2 problem\(s\):\n  output q"):
        graph.verify()


def test_unplaced_values_are_sound() -> None:
    graph = MNGraph([MNNode("Relu", "r", ["x", ""], ["y"])], inputs=["x"], outputs=["y"])
    for name in ("x", "y"):
        graph.add_value(MNValue(name, OnnxType.INT64, (3,), MNType.INT))
    graph.verify()
    with pytest.raises(GraphError, match="value x has no layout yet"):
        _ = graph.values["x"].num_lw


def test_fields_accept_their_spelling() -> None:
    made = MNValue("v", "FLOAT32", [2], "Half", gene=["N"], pad_type="Zero", loc="LM0", addr=4)  # type: ignore[arg-type]
    assert (made.onnx_dtype, made.dtype, made.shape, made.loc) == (OnnxType.FLOAT32, MNType.HALF, (2,), Location.LM0)
    assert made.loc_kind is LocKind.LM
    with pytest.raises(GraphError, match=r"unknown PadType 'zero', .*did you mean 'Zero'\?"):
        MNValue("v", OnnxType.FLOAT32, (2,), MNType.HALF, pad_type="zero")  # type: ignore[arg-type]


def test_names() -> None:
    graph = chain()
    with pytest.raises(GraphError, match="already has a value 'x'"):
        graph.add_value(value("x"))
    assert graph.fresh_name("x", "Download") == "x_Download_0"
    graph.add_value(value("x_Download_0"))
    assert graph.fresh_name("t", "Download") == "t_Download_1"  # as in the public listing
    assert graph.fresh_name("t", "LayoutSwitch") == "t_LayoutSwitch_0"


def test_a_copy_is_independent() -> None:
    graph = chain()
    twin = graph.copy()
    twin.nodes[1].inputs[0] = "x"
    twin.nodes[2].attrs["allowzero"] = 1
    twin.values["a"].place_at(Location.LM1, 8)
    twin.inputs.append("q")
    assert graph.nodes[1].inputs[0] == "a" and graph.nodes[2].attrs == {"allowzero": 0}
    assert graph.values["a"].loc is Location.LM0 and graph.inputs == ["x"]
