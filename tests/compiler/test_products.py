"""Matrix products in local memory on the simulated chip against the NumPy reference, bit for bit: every transposition,
every use of the levels, sizes that fill nothing, leading axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.layers.halfmath import half_to_float
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models

OPTIONS = Options.resolve({}, {})
Feeds = dict[str, NDArray[Any]]


def _run(compiled: Compiled, feeds: Feeds) -> Feeds:
    """Outputs on the chip, after a comparison with the reference."""
    got = machine.run(compiled, feeds)
    raw = run_reference(compiled.graph, feeds)
    for name in got:
        stored = name if name in raw else next(n for n in raw if n.startswith(f"{name}_Upload"))
        np.testing.assert_array_equal(got[name], raw[stored], err_msg=name)
    return got


def _product(op_type: str, a: list[int], b: list[int], y: list[int], *, bias: bool = False, **attrs: Any) -> None:
    """One product of random operands; besides the bits, the result must be near that of NumPy in double."""
    shapes = {"a": a, "b": b, **({"c": y[-1:]} if bias else {})}
    model = models.build(
        [helper.make_node(op_type, list(shapes), ["y"], **attrs)],
        {name: ("float", shape) for name, shape in shapes.items()},
        {"y": ("float", y)},
    )
    rng = np.random.default_rng(sum(a) + 7 * sum(b))
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    compiled = compile_model(model, OPTIONS)
    if "spread" in attrs:
        assert [node.attrs["spread"] for node in compiled.graph.nodes if node.op_type == op_type] == [attrs["spread"]]
    got = half_to_float(_run(compiled, feeds)["y"])
    left = feeds["a"].T if attrs.get("transA") else feeds["a"]
    right = feeds["b"].T if attrs.get("transB") else feeds["b"]
    exact = left.astype(np.float64) @ right.astype(np.float64) + feeds.get("c", 0)
    assert np.abs(got - exact).max() < 0.01 * np.abs(exact).max()


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("rows, depth, columns", [(30, 20, 40), (7, 13, 5), (1, 1, 1), (3, 257, 2)])
def test_transpositions_and_sizes(rows: int, depth: int, columns: int, trans_a: int, trans_b: int) -> None:
    a = [depth, rows] if trans_a else [rows, depth]
    b = [columns, depth] if trans_b else [depth, columns]
    _product("Gemm", a, b, [rows, columns], transA=trans_a, transB=trans_b, bias=rows == 7)


@pytest.mark.parametrize(
    "spread, trans_a, trans_b, bias",
    [
        ("----", 1, 0, True),
        ("KKKN", 0, 1, True),
        ("KKKK", 1, 0, True),
        ("KK-M", 0, 0, False),
        ("KNKM", 1, 1, True),
        ("MKNK", 0, 0, True),
        ("MNKK", 1, 0, False),
        ("NNKM", 0, 1, True),
        ("M-KN", 1, 1, False),
        ("-KKN", 0, 1, True),
        ("K-M-", 1, 0, True),
        ("-MMK", 0, 1, True),
        ("N-M-", 1, 0, False),
    ],
)
def test_uses_of_the_levels(spread: str, trans_a: int, trans_b: int, bias: bool) -> None:
    """K on a level: partial sums are added over it, the bias once; others split or copy the operands."""
    a, b = ([70, 33] if trans_a else [33, 70]), ([21, 70] if trans_b else [70, 21])
    _product("Gemm", a, b, [33, 21], bias=bias, transA=trans_a, transB=trans_b, spread=spread)


@pytest.mark.parametrize(
    "a, b, y",
    [
        ([3, 4, 17, 33], [3, 4, 33, 21], [3, 4, 17, 21]),
        ([3, 4, 17, 33], [33, 21], [3, 4, 17, 21]),
        ([17, 33], [3, 33, 21], [3, 17, 21]),
        ([2, 1, 5, 16], [2, 3, 16, 4], [2, 3, 5, 4]),
    ],
)
def test_leading_axes(a: list[int], b: list[int], y: list[int]) -> None:
    _product("MatMul", a, b, y)


def test_leading_axis_over_levels() -> None:
    _product("MatMul", [16, 5, 20], [16, 20, 3], [16, 5, 3], spread="SSNM")


def test_more_rows_than_the_accumulators_hold() -> None:
    _product("Gemm", [8192, 16], [16, 16], [8192, 16], transB=1)


@pytest.mark.parametrize(
    "alpha, beta, addend", [(2.5, 1.0, [5]), (1.0, -0.5, [5]), (0.25, 3.0, [7, 5]), (1.0, 1.0, [7, 1])]
)
def test_factors_and_addends_of_any_shape(alpha: float, beta: float, addend: list[int]) -> None:
    shapes = {"a": [7, 12], "b": [12, 5], "c": addend}
    model = models.build(
        [helper.make_node("Gemm", ["a", "b", "c"], ["y"], alpha=alpha, beta=beta)],
        {name: ("float", shape) for name, shape in shapes.items()},
        {"y": ("float", [7, 5])},
    )
    rng = np.random.default_rng(6)
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    raw = _run(compile_model(model, OPTIONS), feeds)["y"]
    got = half_to_float(raw) if raw.dtype == np.uint16 else raw.view(np.float32)
    exact = alpha * (feeds["a"] @ feeds["b"]) + beta * feeds["c"]
    assert np.abs(got - exact).max() < 0.01 * np.abs(exact).max()


@pytest.mark.parametrize("spread", ["MNKK", "KKMN", "--N-", "NKK-"])
@pytest.mark.parametrize("trans", [0, 1])
def test_single_precision(spread: str, trans: int) -> None:
    """float_dtype=float: block floats of 18 bits (`g` forms), sums in single."""
    a, b = ([50, 19] if trans else [19, 50]), ([50, 11] if trans else [11, 50])
    model = models.build(
        [helper.make_node("Gemm", ["a", "b", "c"], ["y"], transA=trans, transB=1 - trans, spread=spread)],
        {"a": ("float", a), "b": ("float", b), "c": ("float", [11])},
        {"y": ("float", [19, 11])},
    )
    rng = np.random.default_rng(8)
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in {"a": a, "b": b, "c": [11]}.items()}
    got = _run(compile_model(model, Options.resolve({"float_dtype": "float"}, {})), feeds)["y"].view(np.float32)
    left, right = (feeds["a"].T, feeds["b"]) if trans else (feeds["a"], feeds["b"].T)
    assert np.abs(got - (left @ right + feeds["c"])).max() < 5e-4


def test_padding_of_the_contraction_is_cleared() -> None:
    """The second product contracts over columns that the first one left undefined beyond 5."""
    model = models.build(
        [
            helper.make_node("Gemm", ["a", "b", "c"], ["h"], transB=1),
            helper.make_node("Gemm", ["h", "d"], ["y"]),
        ],
        {"a": ("float", [9, 30]), "b": ("float", [5, 30]), "c": ("float", [5]), "d": ("float", [5, 7])},
        {"y": ("float", [9, 7])},
        {"h": ("float", [9, 5])},
    )
    rng = np.random.default_rng(3)
    shapes = {"a": [9, 30], "b": [5, 30], "c": [5], "d": [5, 7]}
    _run(compile_model(model, OPTIONS), {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()})


def test_training_products_share_their_layouts() -> None:
    """Forward, both gradients and a second product by the same weights: nothing moves between them."""
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["y"], transB=1, spread="KKKN"),
        helper.make_node("Relu", ["y"], ["dy"]),
        helper.make_node("Gemm", ["dy", "x"], ["dw"], transA=1),
        helper.make_node("Gemm", ["dy", "w"], ["dx"]),
    ]
    shapes = {"x": [20, 1024], "w": [256, 1024]}
    model = models.build(
        nodes,
        {name: ("float", shape) for name, shape in shapes.items()},
        {"dw": ("float", [256, 1024]), "dx": ("float", [20, 1024])},
        {"y": ("float", [20, 256]), "dy": ("float", [20, 256])},
    )
    compiled = compile_model(model, OPTIONS)
    products = [node for node in compiled.graph.nodes if node.op_type == "Gemm"]
    assert [node.attrs["spread"] for node in products] == ["KKKN", "NNNM", "NNNK"]
    assert not any("LayoutSwitch" in node.op_type for node in compiled.graph.nodes)
    layouts = {name: compiled.graph.values[name].layout for name in ("w", "dw")}
    assert layouts["w"].layout.equivalent(layouts["dw"].layout)
    rng = np.random.default_rng(5)
    _run(compiled, {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()})
