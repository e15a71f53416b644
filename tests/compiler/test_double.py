"""`float_dtype=double`: chip and reference agree in every bit, and both with NumPy's double precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from compiler.graph import MNType
from compiler.options import Options
from tests.compiler import onelayer
from tests.compiler.elementwise_cases import run, sample

Array = NDArray[Any]
DOUBLE = MNType.DOUBLE
OPTIONS = Options.resolve({"float_dtype": "double"}, {})

BINARY: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "Add": ("f", np.add),
    "Sub": ("f", np.subtract),
    "Mul": ("f", np.multiply),
    "Max": ("f", np.maximum),
    "Min": ("f", np.minimum),
    "Equal": ("b", np.equal),
    "Less": ("b", np.less),
    "LessOrEqual": ("b", np.less_equal),
    "Greater": ("b", np.greater),
    "GreaterOrEqual": ("b", np.greater_equal),
}
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((125, 7), (125, 7)),
    ((13, 1), (1, 37)),
    ((3, 5, 11), (5, 1)),
    ((1,), ()),
]


def _same(got: Array, want: Array) -> None:
    """Equal values; products of single-precision numbers and their sums with one rounding are exact in double."""
    known = np.isfinite(want)
    np.testing.assert_array_equal(got[known], want[known].astype(got.dtype))


@pytest.mark.parametrize("a, b", SHAPES)
def test_binary_operators_broadcast(a: Sequence[int], b: Sequence[int]) -> None:
    rng = np.random.default_rng(len(a) * 10 + len(b))
    shape = np.broadcast_shapes(a, b)
    feeds = {"a": sample(rng, "f", a), "b": sample(rng, "f", b)}
    nodes = [helper.make_node(op, ["a", "b"], [op]) for op in BINARY]
    compiled, got = run(nodes, feeds, {op: (kind, shape) for op, (kind, _) in BINARY.items()}, options=OPTIONS)
    assert {v.dtype for v in compiled.graph.values.values() if v.dtype.is_float} == {DOUBLE}
    wide = {name: data.astype(np.float64) for name, data in feeds.items()}
    with np.errstate(invalid="ignore"):
        for op, (_, meaning) in BINARY.items():
            _same(got[op], meaning(wide["a"], wide["b"]))


def _leaky(x: Array) -> Array:
    return np.where(x > 0, x, x * 0.5)


UNARY: dict[str, tuple[dict[str, Any], Callable[[Array], Array]]] = {
    "Neg": ({}, np.negative),
    "Abs": ({}, np.abs),
    "Relu": ({}, lambda x: np.maximum(x, 0)),
    "Floor": ({}, np.floor),
    "Ceil": ({}, np.ceil),
    "Round": ({}, np.round),
    "Sign": ({}, np.sign),
    "LeakyRelu": ({"alpha": 0.5}, _leaky),
    "HardSigmoid": ({"alpha": 0.25, "beta": 0.5}, lambda x: np.clip(x / 4 + 0.5, 0, 1)),
}


@pytest.mark.parametrize("shape", [(125, 7), (2, 3, 5, 7), (31,), ()])
def test_unary_operators_and_casts(shape: Sequence[int]) -> None:
    rng = np.random.default_rng(3)
    feeds = {kind: sample(rng, kind, shape) for kind in "fib"}
    nodes = [helper.make_node(op, ["f"], [op], **attributes) for op, (attributes, _) in UNARY.items()]
    nodes += [helper.make_node("Cast", [kind], [f"{kind}_f"], to=1) for kind in "ib"]
    nodes += [helper.make_node("Cast", ["f"], [f"f_{kind}"], to=to) for kind, to in (("i", 7), ("b", 9))]
    nodes.append(helper.make_node("Where", ["b", "f", "zero"], ["Where"]))
    outputs = {op: ("f", shape) for op in (*UNARY, "i_f", "b_f", "Where")} | {f"f_{k}": (k, shape) for k in "ib"}
    _, got = run(nodes, feeds, outputs, constants={"zero": np.float32(0)}, options=OPTIONS)
    wide = feeds["f"].astype(np.float64)
    for op, (_, meaning) in UNARY.items():
        _same(got[op], meaning(wide))
    _same(got["i_f"], feeds["i"].astype(np.int32).astype(np.float64))
    _same(got["b_f"], feeds["b"].astype(np.float64))
    _same(got["f_b"], wide != 0)
    _same(got["f_i"], np.clip(wide, -(2**31), 2**31 - 1).astype(np.int32))
    _same(got["Where"], np.where(feeds["b"], wide, 0))


def test_chain_keeps_the_precision() -> None:
    """(x + 2**-40) - x is lost in single precision; the constants enter the code with all bits of a double."""
    x = np.random.default_rng(5).uniform(1, 2, (70, 3)).astype(np.float32)
    nodes = [helper.make_node("Add", ["x", "tiny"], ["s"]), helper.make_node("Sub", ["s", "x"], ["y"])]
    constants = {"tiny": np.float32(2.0**-40 * (1 + 2.0**-10))}
    inner = {"s": ("f", x.shape)}
    _, got = run(nodes, {"x": x}, {"y": ("f", x.shape)}, inner=inner, constants=constants, options=OPTIONS)
    np.testing.assert_allclose(got["y"], 2.0**-40 * (1 + 2.0**-10), atol=2.0**-53, rtol=0)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "Reciprocal": lambda x: 1 / x,
    "Sqrt": lambda x: np.sqrt(np.maximum(x, 0)),
    "Rsqrt": lambda x: 1 / np.sqrt(np.maximum(x, 0)),
    "Exp": np.exp,
    "Log": lambda x: np.log(np.abs(np.maximum(x, 0))),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Silu": lambda x: x / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("shape", [(125, 9), (31,)])
def test_functions_on_the_chip_have_the_bits_of_the_reference(shape: Sequence[int]) -> None:
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32) * 20
    x.ravel()[:3] = 0, np.inf, -np.inf
    y = np.random.default_rng(8).standard_normal(shape).astype(np.float32)
    names = [*FUNCTIONS, "Softplus", "Elu"]
    nodes = [helper.make_node(op, ["x"], [op]) for op in names]
    nodes += [helper.make_node(op, ["x", "y"], [op]) for op in ("Div", "Pow")]
    outputs = {name: ("f", shape) for name in (*names, "Div", "Pow")}
    _, got = run(nodes, {"x": x, "y": y}, outputs, options=OPTIONS)
    wide = x.astype(np.float64).ravel()[3:]
    with np.errstate(all="ignore"):
        for op, meaning in FUNCTIONS.items():
            np.testing.assert_allclose(got[op].ravel()[3:], meaning(wide), rtol=2.0**-50, err_msg=op)
    np.testing.assert_allclose(got["Div"].ravel()[3:], wide / y.astype(np.float64).ravel()[3:], rtol=2.0**-51)


CASES = {
    "addresses": "(13,7)/((8_L2B:1,2:7),(7:1);B@[PE,W,MAB,L1B])",
    "PEs": "(70,50)/((8_L2B:1,8_L1B:1,2:1),(13:2,4_PE:1);B@[MAB])",
    "PEs low": "(6,2)/((2_PE:2,3:1),(2_PE:1);B@[W,MAB,L1B,L2B])",
    "PEs high": "(6,2)/((2_PE:1,3:1),(2_PE:2);B@[W,MAB,L1B,L2B])",
    "MABs and PEs": "(9,60)/((9:1),(16_MAB:1,4_PE:1);B@[W,L1B,L2B])",
    "MABs in fours": "(17,4)/((4_MAB:4,5:1),(4_MAB:1);B@[PE,W,L1B,L2B])",
    "MABs odd bits": "(9,4)/((2_MAB:8,2_MAB:2,3:1),(2_MAB:4,2_MAB:1);B@[PE,W,L1B,L2B])",
    "L1Bs": "(40,8)/((16_MAB:1,4:1),(8_L1B:1);B@[PE,W,L2B])",
    "L1Bs, MABs alike": "(23,24)/((4_PE:1,6:1),(8_L1B:1,3:6);B@[W,MAB,L2B])",
    "L1Bs in part": "(10,4)/((2_L1B:2,5:1),(2_L1B:4,2_L1B:1);B@[PE,W,MAB,L2B])",
    "MABs in fours, L1Bs": "(12,32)/((4_MAB:4,3:1),(8_L1B:1,4_MAB:1);B@[PE,W,L2B])",
    "L2Bs and PEs": "(33,8)/((9:1,4_PE:1),(8_L2B:1);B@[W,MAB,L1B])",
    "L2Bs and MABs": "(16,8,10)/((16_MAB:1),(8_L2B:1),(10:1);B@[PE,W,L1B])",
    "banks": "(20,2)/((4_L2B:2,5:1),(2_L2B:1);B@[PE,W,MAB,L1B])",
    "groups, banks alike": "(10,4)/((10:1),(4_L2B:2);B@[PE,W,MAB,L1B,2_L2B:1])",
    "all levels": "(3,1000)/((3:1),(8_L2B:1,8_L1B:1,16_MAB:1);B@[PE,W])",
}
#: The index of an axis that is split over L2Bs cannot be delivered.
NO_ARG_CASES = ("banks", "groups, banks alike", "all levels")
NUMPY = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min}


@pytest.mark.parametrize("op_type", NUMPY)
@pytest.mark.parametrize("name", CASES)
def test_reductions(name: str, op_type: str) -> None:
    layout = CASES[name]
    shape = tuple(int(n) for n in layout[1 : layout.index(")")].split(","))
    rng = np.random.default_rng(len(layout))
    values = rng.standard_normal(shape) * np.exp2(rng.integers(-30, 30, shape))
    values = np.where(rng.random(shape) < 0.1, -0.0, values)
    want = NUMPY[op_type](values, axis=1, keepdims=True)
    graph = onelayer.one_node(op_type, shape, want.shape, (DOUBLE, DOUBLE), axes=[1], keepdims=1)
    got = onelayer.check(graph, layout, values).view(np.float64)
    scale = np.abs(values).sum(axis=1, keepdims=True) if op_type == "ReduceSum" else np.zeros_like(want)
    assert (np.abs(got - want) <= 2.0**-49 * scale).all()


@pytest.mark.parametrize("name", [name for name in CASES if "L2Bs" not in name and name not in NO_ARG_CASES])
def test_index_of_the_extreme(name: str) -> None:
    layout = CASES[name]
    rows, columns = (int(n) for n in layout[1 : layout.index(")")].split(","))
    values = np.random.default_rng(len(layout)).integers(-2, 1, (rows, columns)) * (1 + 2.0**-50)
    values[:, 0] *= 1 - 2.0**-51
    values = np.where(values == 0, np.where(np.arange(columns) % 2 == 0, -0.0, 0.0), values)
    graph = onelayer.one_node("ArgMax", (rows, columns), (rows,), (DOUBLE, MNType.INT), axis=1, keepdims=0)
    np.testing.assert_array_equal(onelayer.check(graph, layout, values), values.argmax(axis=1).astype(np.uint32))


def test_infinities_in_sums() -> None:
    values = np.random.default_rng(7).standard_normal((9, 60))
    values[0, 3], values[1, 5], values[2, :2] = np.inf, -np.inf, (np.inf, -np.inf)
    graph = onelayer.one_node("ReduceSum", (9, 60), (9, 1), (DOUBLE, DOUBLE), axes=[1], keepdims=1)
    got = onelayer.check(graph, CASES["MABs and PEs"], values).view(np.float64)
    np.testing.assert_array_equal(got[:3, 0], [np.inf, -np.inf, np.inf])


def _product(a: list[int], b: list[int], y: list[int], *, bias: bool = False, **attrs: Any) -> None:
    """One product of random operands: the reference's bits, and near the product in extended precision."""
    shapes = {"a": a, "b": b, **({"c": y[-1:]} if bias else {})}
    rng = np.random.default_rng(sum(a) + 7 * sum(b))
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    op_type = "Gemm" if len(a) == 2 else "MatMul"
    node = helper.make_node(op_type, list(shapes), ["y"], **attrs)
    compiled, got = run([node], feeds, {"y": ("f", y)}, options=OPTIONS)
    if "spread" in attrs:
        assert [node.attrs["spread"] for node in compiled.graph.nodes if node.op_type == op_type] == [attrs["spread"]]
    wide = {name: data.astype(np.longdouble) for name, data in feeds.items()}
    left = wide["a"].T if attrs.get("transA") else wide["a"]
    right = wide["b"].T if attrs.get("transB") else wide["b"]
    size = np.abs(left) @ np.abs(right) + np.abs(wide.get("c", 0))
    assert (np.abs(got["y"] - (left @ right + wide.get("c", 0))) <= 2.0**-48 * size).all()


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("rows, depth, columns", [(30, 20, 40), (7, 13, 5), (1, 1, 1), (3, 257, 2)])
def test_products_of_every_transposition(rows: int, depth: int, columns: int, trans_a: int, trans_b: int) -> None:
    a = [depth, rows] if trans_a else [rows, depth]
    b = [columns, depth] if trans_b else [depth, columns]
    _product(a, b, [rows, columns], transA=trans_a, transB=trans_b, bias=rows == 7)


@pytest.mark.parametrize(
    "spread, trans_a, trans_b, bias",
    [
        ("----", 1, 0, True),
        ("KKKN", 0, 1, True),
        ("KKKK", 1, 0, True),
        ("KNKM", 1, 1, True),
        ("MNKK", 1, 0, False),
        ("N-M-", 1, 0, False),
        ("-KKN", 0, 1, True),
    ],
)
def test_products_over_the_levels(spread: str, trans_a: int, trans_b: int, bias: bool) -> None:
    a, b = ([70, 33] if trans_a else [33, 70]), ([21, 70] if trans_b else [70, 21])
    _product(a, b, [33, 21], bias=bias, transA=trans_a, transB=trans_b, spread=spread)


def test_products_with_leading_axes() -> None:
    _product([3, 4, 17, 33], [3, 4, 33, 21], [3, 4, 17, 21])
    _product([2, 1, 5, 7], [3, 7, 6], [2, 3, 5, 6])
