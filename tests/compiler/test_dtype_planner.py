"""Where Half ends: the types of values under the rules of `float_dtype`, and the conversions between them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from compiler.compiled import Compiled
from compiler.graph import MNType
from compiler.layout import Layout
from compiler.layout.words import narrow, widen
from compiler.options import Options
from tests.compiler.elementwise_cases import floats, integers, run, sample


def _block(rule: str, rows: int = 60) -> Compiled:
    """x -> product -> + x -> relu -> product: a residual connection in Float between two products in Half."""
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("Gemm", ["x", "w1"], ["h"], transB=1),
        helper.make_node("Add", ["h", "x"], ["r"]),
        helper.make_node("Relu", ["r"], ["p"]),
        helper.make_node("Gemm", ["p", "w2"], ["y"], transB=1),
    ]
    w1, w2 = (rng.standard_normal((32, 32)).astype(np.float32) / 6 for _ in range(2))
    inner = {name: ("f", (rows, 32)) for name in ("h", "r", "p")}
    return run(
        nodes,
        {"x": rng.standard_normal((rows, 32)).astype(np.float32)},
        {"y": ("f", (rows, 32))},
        inner=inner,
        constants={"w1": w1, "w2": w2},
        options=Options.resolve({"float_dtype": rule}, {}),
    )[0]


def _types(compiled: Compiled) -> dict[str, MNType]:
    """Element types of the floating-point values; tables that moves need are integers."""
    return {name: value.dtype for name, value in compiled.graph.values.items() if value.dtype.is_float}


def test_mixed_keeps_half_to_the_products() -> None:
    types = _types(_block("mixed"))
    assert types["h"] is types["y"] is types["w1"] is types["p"] is MNType.HALF
    assert types["x"] is types["r"] is MNType.FLOAT
    assert types["x_Cast_0"] is MNType.HALF and types["r_Cast_2"] is MNType.HALF


def test_half_has_no_conversions_where_all_layers_have_code() -> None:
    compiled = _block("half")
    assert set(_types(compiled).values()) == {MNType.HALF}
    assert not any(node.op_type == "Cast" for node in compiled.graph.nodes)


def test_half_converts_for_layers_that_have_none() -> None:
    rng = np.random.default_rng(2)
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Less", ["s", "b"], ["y"])]
    feeds = {"a": floats(rng, (40, 24)), "b": floats(rng, (24,))}
    options = Options.resolve({"float_dtype": "half"}, {})
    compiled, _ = run(nodes, feeds, {"y": ("b", (40, 24))}, inner={"s": ("f", (40, 24))}, options=options)
    types = _types(compiled)
    assert types["a"] is types["b"] is types["s"] is MNType.HALF
    assert [n.op_type for n in compiled.graph.nodes].count("Cast") == 2


def test_products_are_single_too_under_float() -> None:
    assert set(_types(_block("float")).values()) == {MNType.FLOAT}


def test_a_weight_for_both_banks_is_alike_in_all_l1bs() -> None:
    """Its download gives each bank the parts of both: by broadcast, since no digit of it names the L1Bs."""
    rng = np.random.default_rng(6)
    w = rng.standard_normal((32, 20)).astype(np.float32)
    nodes = [helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)]
    feeds = {"x": rng.standard_normal((50, 20)).astype(np.float32), "w": w}
    options = Options.resolve({"float_dtype": "float"}, {})
    _, got = run(nodes, feeds, {"y": ("f", (50, 32))}, options=options)
    np.testing.assert_allclose(got["y"], feeds["x"] @ w.T, atol=1e-3)


def test_float_has_no_half() -> None:
    rng = np.random.default_rng(3)
    feeds = {"a": floats(rng, (5, 3)), "b": floats(rng, (5, 1))}
    options = Options.resolve({"float_dtype": "float"}, {})
    compiled, _ = run([helper.make_node("Mul", ["a", "b"], ["y"])], feeds, {"y": ("f", (5, 3))}, options=options)
    assert set(_types(compiled).values()) == {MNType.FLOAT}


def test_double_is_double_everywhere() -> None:
    rng = np.random.default_rng(3)
    feeds = {"a": floats(rng, (5, 3)), "b": floats(rng, (5, 1))}
    options = Options.resolve({"float_dtype": "double"}, {})
    compiled, _ = run([helper.make_node("Mul", ["a", "b"], ["y"])], feeds, {"y": ("f", (5, 3))}, options=options)
    assert set(_types(compiled).values()) == {MNType.DOUBLE}


@pytest.mark.parametrize("shape", [(125, 256), (3,), (7, 5, 9), (), (64, 1)])
def test_conversions_between_all_types(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    feeds = {"f": floats(rng, shape), "i": integers(rng, shape), "b": sample(rng, "b", shape)}
    codes = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL}
    pairs = [(a, b) for a in codes for b in codes if a != b]
    nodes = [helper.make_node("Cast", [a], [a + b], to=codes[b]) for a, b in pairs]
    _, got = run(nodes, feeds, {a + b: (b, shape) for a, b in pairs})
    np.testing.assert_array_equal(got["if"], feeds["i"].astype(np.float32))
    np.testing.assert_array_equal(got["bf"], feeds["b"].astype(np.float32))
    np.testing.assert_array_equal(got["bi"], feeds["b"])
    np.testing.assert_array_equal(got["fb"], feeds["f"] != 0)
    np.testing.assert_array_equal(got["ib"], feeds["i"] != 0)
    np.testing.assert_array_equal(got["fi"], np.clip(feeds["f"].astype(np.float64), -(2.0**31), 2**31 - 1).astype(int))


@pytest.mark.parametrize("shape", [(125, 256), (3,), (7, 5, 9), (), (40, 1), (64, 24)])
def test_half_rounds_and_widens(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    nodes = [helper.make_node("Mul", ["a", "b"], ["m"]), helper.make_node("Sub", ["m", "b"], ["d"])]
    nodes += [helper.make_node("Max", ["d", "a"], ["y"]), helper.make_node("Greater", ["y", "b"], ["g"])]
    feeds = {"a": floats(rng, shape), "b": floats(rng, shape)}
    options = Options.resolve({"float_dtype": "half"}, {})
    outputs = {"y": ("f", shape), "g": ("b", shape)}
    run(nodes, feeds, outputs, inner={name: ("f", shape) for name in "md"}, options=options)


@pytest.mark.parametrize("rule", ["mixed", "half", "float", "double"])
def test_what_is_known_at_compile_time_is_not_converted(rule: str) -> None:
    nodes = [helper.make_node("Pad", ["x", "pads", "fill"], ["y"])]
    constants = {"pads": np.array([1, 0, 0, 2]), "fill": np.float32(-1.5)}
    x = np.arange(21, dtype=np.float32).reshape(7, 3)
    options = Options.resolve({"float_dtype": rule}, {})
    compiled, got = run(nodes, {"x": x}, {"y": ("f", (8, 5))}, constants=constants, options=options)
    assert not any(node.op_type == "Cast" for node in compiled.graph.nodes)
    np.testing.assert_array_equal(got["y"], np.pad(x, [(1, 0), (0, 2)], constant_values=-1.5))


@pytest.mark.parametrize(
    "singles, halves",
    [
        ("((8_L2B:1, 6:2), (2:1, 2_W:1))", "((8_L2B:1, 6:1), (4_W:1))"),
        ("((4:1), (2_W:1))", "((2:1, 2_W:2), (2_W:1))"),
        ("((3:1), (2_W:1))", "((3:1), (2_W:1); B@[2_W:2])"),
        ("((4:1, 4_PE:1); B@[W])", "((2:1, 2_W:2, 4_PE:1); B@[2_W:1])"),
        ("((3:1); B@[W])", "((3:1); B@[W])"),
    ],
)
def test_layouts_of_halves_and_singles(singles: str, halves: str) -> None:
    wide, packed = Layout.parse(singles), Layout.parse(halves)
    assert narrow(wide).equivalent(packed)
    assert widen(packed).equivalent(wide)
