"""The memory checker finds every way in which a plan can lose a value; plans of the compiler pass it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from compiler.errors import CompilerError
from compiler.graph import Location, MNGraph, MNType, OnnxType, PadType
from compiler.graph.graph import MNNode
from compiler.graph.value import MNValue
from compiler.layers.registry import layer_of
from compiler.layout import Layout, Level, PadLayout
from compiler.plan.memory_check import MemoryPlanError, check_memory, memory_problems

ROWS = PadLayout((128,), Layout.build([[(8, Level.L2B, 1), (8, Level.L1B, 1), (2, Level.ADDR, 1)]]))
SLICED = PadLayout(
    (256,), Layout.build([[(2, Level.TIME, 1), (8, Level.L2B, 1), (8, Level.L1B, 1), (2, Level.ADDR, 1)]])
)
IMAGE = 128


def _value(name: str, loc: Location, addr: int, parent: str | None = None, layout: PadLayout = ROWS) -> MNValue:
    return MNValue(name, OnnxType.INT32, layout.shape, MNType.INT, layout, loc=loc, addr=addr, parent=parent)


def _sound() -> tuple[MNGraph, list[dict[str, int]]]:
    """x in two slices -> y0 = x0 + x1, y1 = reshaped and refilled y0 -> y; scratch is a plain range."""
    graph = MNGraph(inputs=["x"], outputs=["y"])
    dram, lm0, lm1 = Location.DRAM, Location.LM0, Location.LM1
    for value in (
        _value("x", dram, 0, layout=SLICED),
        _value("x0", dram, 0, "x"),
        _value("x1", dram, IMAGE, "x"),
        _value("a", lm0, 0),
        _value("b", lm0, 4),
        _value("s", lm1, 0),
        _value("v", lm1, 0, "s"),
        _value("w", lm1, 0, "v"),
        _value("y0", dram, 1024, "y"),
        _value("y1", dram, 1024 + IMAGE, "y"),
        _value("y", dram, 1024, layout=SLICED),
    ):
        graph.add_value(value)
    graph.values["s"].pad_type = PadType.DIRTY
    graph.nodes = [
        MNNode("MNCoreInputSplit", "split", ["x"], ["x0", "x1"], {"axis": 0}),
        MNNode("MNCoreDownload", "da", ["x0"], ["a"]),
        MNNode("MNCoreDownload", "db", ["x1"], ["b"]),
        MNNode("Add", "add", ["a", "b"], ["s"]),
        MNNode("MNCoreUpload", "u0", ["s"], ["y0"]),
        MNNode("Reshape", "reshape", ["s"], ["v"]),
        MNNode("MNCoreRefillPadding", "fill", ["v"], ["w"], {"kind": "Zero", "axes": [0]}),
        MNNode("MNCoreUpload", "u1", ["w"], ["y1"]),
        MNNode("MNCoreOutputConcat", "concat", ["y0", "y1"], ["y"], {"axis": 0}),
    ]
    return graph, [{} for _ in graph.nodes]


def test_a_sound_plan() -> None:
    graph, scratch = _sound()
    graph.verify()
    check_memory(graph, scratch)


Break = Callable[[MNGraph], object]


@pytest.mark.parametrize(
    "damage, found",
    [
        (lambda g: g.values["b"].place_at(Location.LM0, 0), "reads a in LM0, where something else was written"),
        (lambda g: g.values["s"].place_at(Location.LM0, 4), r"reads b in LM0.*|v an alias of s"),
        (lambda g: g.values["v"].place_at(Location.LM1, 8), "v an alias of s, which lies elsewhere"),
        (lambda g: g.values["a"].place_at(Location.LM0, 4096), "outside of local memory"),
        (lambda g: g.nodes.insert(3, g.nodes.pop(7)), "reads w, which was never made"),
        (lambda g: g.nodes.insert(4, g.nodes.pop(6)), "reads v, which was never made"),
        (lambda g: g.nodes.insert(5, g.nodes.pop(4)), None),
        (lambda g: g.nodes.insert(7, g.nodes.pop(4)), "reads s in LM1, where something else was written"),
        (lambda g: g.values["x1"].place_at(Location.DRAM, 32), "slice x1 lies at 32..160, expected to begin at 128"),
        (lambda g: g.values["y1"].place_at(Location.DRAM, 1024), "slice y1 begins at 1024, expected 1152"),
        (lambda g: g.values["y0"].place_at(Location.DRAM, 2048), "slice y0 begins at 2048"),
        (lambda g: g.values["y"].place_at(Location.DRAM, 0), "slice y0 begins at 1024, expected 0"),
        (lambda g: (g.values["y0"].place_at(Location.DRAM, 0), g.params.append("x")), "the end reads x in DRAM"),
        (lambda g: g.values["y1"].place_at(Location.DRAM, (1 << 29) - 8), "outside of DRAM"),
    ],
)
def test_damage_is_found(damage: Break, found: str | None) -> None:
    graph, scratch = _sound()
    graph = copy.deepcopy(graph)
    damage(graph)
    if found is None:
        check_memory(graph, scratch)
    else:
        with pytest.raises(MemoryPlanError, match=found):
            check_memory(graph, scratch)
        assert issubclass(MemoryPlanError, CompilerError)


def test_scratch_must_not_touch_what_the_layer_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, scratch = _sound()
    layer = layer_of(graph.nodes[3])
    monkeypatch.setattr(type(layer), "scratch", lambda self, node, graph: {"n": 16} if node.name == "add" else {})
    scratch[3] = {"n": 4}
    assert memory_problems(graph, scratch) == []
    scratch[3] = {"n": 0}
    assert "scratch where it makes its results" in memory_problems(graph, scratch)[0]
    scratch[3] = {"n": 4088}
    assert "no room" in memory_problems(graph, scratch)[0]
