"""Values that several readers use in different ways: one memory under two shapes, one constant as data and as index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from compiler.codegen import compile_model
from compiler.graph import MNType
from compiler.layers.base import raw_float
from compiler.options import Options
from tests.compiler import machine, models

FLOAT: dict[str, Any] = {"float_dtype": "float"}


@pytest.mark.parametrize("first", [True, False])
def test_padding_of_a_transposed_view_leaves_the_value_itself_alone(first: bool) -> None:
    """ReduceMax refills the padding of the view in place with -inf; the product needs zeros there."""
    reduction = [
        helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0]),
        helper.make_node("ReduceMax", ["xt", "axes"], ["most"], keepdims=0),
    ]
    product = [helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)]
    x = np.random.default_rng(1).standard_normal((13, 13)).astype(np.float32)
    weight = np.random.default_rng(2).standard_normal((17, 13)).astype(np.float32)
    model = models.build(
        reduction + product if first else product + reduction,
        {"x": ("float", (13, 13))},
        {"most": ("float", (13,)), "y": ("float", (13, 17))},
        {"xt": ("float", (13, 13))},
        {"w": weight, "axes": np.array([1])},
    )
    for planner in ("legacy", "bidi"):
        compiled = compile_model(model, Options.resolve({**FLOAT, "layout_planner": planner}, {}))
        got = machine.run(compiled, {"x": x})
        np.testing.assert_array_equal(got["most"].view(np.float32), x.max(axis=0))
        np.testing.assert_allclose(got["y"].view(np.float32), x @ weight.T, rtol=1e-4, atol=1e-4)


def _results(model: Any, feeds: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    compiled = compile_model(model, Options.resolve(FLOAT, {}))
    raw = machine.run(compiled, feeds)
    values = {name: compiled.graph.values[stored] for name, stored in compiled.stored.items()}
    return {
        name: raw_float(values[name], bits) if values[name].dtype is MNType.FLOAT else bits.view(np.int32)
        for name, bits in raw.items()
    }


def test_a_constant_is_the_end_of_a_slice_and_an_operand() -> None:
    nodes = [
        helper.make_node("Slice", ["x", "start", "shared", "axis"], ["part"]),
        helper.make_node("Sub", ["k", "shared"], ["less"]),
    ]
    model = models.build(
        nodes,
        {"x": ("float", (3, 7)), "k": ("int", (5, 2))},
        {"part": ("float", (3, 4)), "less": ("int", (5, 2))},
        {},
        {"start": np.array([1]), "shared": np.array([5]), "axis": np.array([1])},
    )
    x, k = np.arange(21, dtype=np.float32).reshape(3, 7), np.arange(10).reshape(5, 2)
    got = _results(model, {"x": x, "k": k})
    np.testing.assert_array_equal(got["part"], x[:, 1:5])
    np.testing.assert_array_equal(got["less"], k - 5)


def test_constant_indices_of_a_gather_are_an_operand_too() -> None:
    nodes = [
        helper.make_node("Gather", ["x", "index"], ["rows"], axis=0),
        helper.make_node("Add", ["k", "index"], ["more"]),
    ]
    model = models.build(
        nodes,
        {"x": ("float", (7, 5)), "k": ("int", (3,))},
        {"rows": ("float", (3, 5)), "more": ("int", (3,))},
        {},
        {"index": np.array([6, 0, 2])},
    )
    x, k = np.arange(35, dtype=np.float32).reshape(7, 5), np.array([1, 2, 3])
    got = _results(model, {"x": x, "k": k})
    np.testing.assert_array_equal(got["rows"], x[[6, 0, 2]])
    np.testing.assert_array_equal(got["more"], k + np.array([6, 0, 2]))
