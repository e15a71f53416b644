"""Order, running sums, and reads and writes at run-time indices on the chip: bits of the reference, values of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from onnx import helper

from compiler.errors import UnsupportedOperator
from tests.compiler.elementwise_cases import run

Array = NDArray[Any]
RNG = np.random.default_rng(5)


def _floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("axis, count, largest", [(1, 7, 1), (0, 2, 0)])
def test_order(axis: int, count: int, largest: int) -> None:
    x = _floats(5, 7)
    x[2, 3], x[1, 4] = x[2, 5], x[3, 4]  # equal elements keep their order
    x[0, 0], x[4, 6] = np.inf, -np.inf
    shape = [count if n == axis else extent for n, extent in enumerate(x.shape)]
    node = helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=axis, largest=largest)
    outputs = {"values": ("f", shape), "places": ("i", shape)}
    _, got = run([node], {"x": x}, outputs, constants={"k": np.array([count])})
    places = np.argsort(-x if largest else x, axis=axis, kind="stable").take(range(count), axis=axis)
    np.testing.assert_array_equal(got["places"], places)
    np.testing.assert_array_equal(got["values"], np.take_along_axis(x, places, axis))


def test_running_sums_and_triangles() -> None:
    x, i = RNG.integers(-9, 9, (3, 11)).astype(np.float32), RNG.integers(-9, 9, (6, 3))
    nodes = [
        helper.make_node("CumSum", ["x", "one"], ["sums"]),
        helper.make_node("CumSum", ["i", "zero"], ["back"], reverse=1, exclusive=1),
        helper.make_node("Trilu", ["x", "one"], ["upper"]),
        helper.make_node("Trilu", ["i", "zero"], ["lower"], upper=0),
    ]
    outputs = {"sums": ("f", x.shape), "back": ("i", i.shape), "upper": ("f", x.shape), "lower": ("i", i.shape)}
    constants = {"one": np.array(1), "zero": np.array(0)}
    _, got = run(nodes, {"x": x, "i": i}, outputs, constants=constants)
    np.testing.assert_array_equal(got["sums"], np.cumsum(x, 1))
    np.testing.assert_array_equal(got["back"], np.cumsum(i[::-1], 0)[::-1] - i)
    np.testing.assert_array_equal(got["upper"], np.triu(x, 1))
    np.testing.assert_array_equal(got["lower"], np.tril(i))


def test_reads_and_writes_anywhere() -> None:
    """Every row has indices of its own; of equal ones the last counts."""
    x, updates = _floats(5, 9), _floats(5, 4)
    at = np.stack([RNG.permutation(9)[:4] for _ in range(5)])
    at[2, 1] = at[2, 3]
    nodes = [
        helper.make_node("GatherElements", ["x", "at"], ["read"], axis=1),
        helper.make_node("ScatterElements", ["x", "at", "updates"], ["written"], axis=1),
        helper.make_node("ScatterElements", ["x", "at", "updates"], ["added"], axis=1, reduction="add"),
    ]
    outputs = {"read": ("f", at.shape), "written": ("f", x.shape), "added": ("f", x.shape)}
    _, got = run(nodes, {"x": x, "at": at, "updates": updates}, outputs)
    np.testing.assert_array_equal(got["read"], np.take_along_axis(x, at, 1))
    written = x.copy()
    for k in range(4):
        np.put_along_axis(written, at[:, k : k + 1], updates[:, k : k + 1], 1)
    np.testing.assert_array_equal(got["written"], written)
    added = torch.from_numpy(x).scatter_add(1, torch.from_numpy(at), torch.from_numpy(updates)).numpy()
    np.testing.assert_allclose(got["added"], added, rtol=1e-6, atol=1e-6)


def test_rows_at_the_same_places() -> None:
    """A cache written at several positions, and the gradient of an embedding: indices repeated over the rows."""
    x, updates, at = _floats(2, 7, 3), _floats(2, 4, 3), np.array([5, 0, 5, 3])
    flat, rows = _floats(6, 3), _floats(4, 3)
    nodes = [
        helper.make_node("Reshape", ["at", "column"], ["line"]),
        helper.make_node("Expand", ["line", "shape"], ["spread"]),
        helper.make_node("ScatterElements", ["x", "spread", "updates"], ["written"], axis=1),
        helper.make_node("Reshape", ["at", "column_2"], ["line_2"]),
        helper.make_node("Expand", ["line_2", "shape_2"], ["spread_2"]),
        helper.make_node("ScatterElements", ["flat", "spread_2", "rows"], ["added"], axis=0, reduction="add"),
    ]
    constants = {
        "column": np.array([1, 4, 1]),
        "shape": np.array([2, 4, 3]),
        "column_2": np.array([4, 1]),
        "shape_2": np.array([4, 3]),
    }
    inner = {"line": ("i", (1, 4, 1)), "spread": ("i", (2, 4, 3)), "line_2": ("i", (4, 1)), "spread_2": ("i", (4, 3))}
    feeds = {"x": x, "updates": updates, "at": at, "flat": flat, "rows": rows}
    outputs = {"written": ("f", x.shape), "added": ("f", flat.shape)}
    _, got = run(nodes, feeds, outputs, inner=inner, constants=constants)
    written = x.copy()
    for k, place in enumerate(at):
        written[:, place] = updates[:, k]
    np.testing.assert_array_equal(got["written"], written)
    added = flat.copy()
    np.add.at(added, at, rows)
    np.testing.assert_allclose(got["added"], added, rtol=2e-3, atol=2e-3)  # products are of halves


def test_indices_of_fewer_rows_are_refused() -> None:
    node = helper.make_node("GatherElements", ["x", "at"], ["read"], axis=1)
    with pytest.raises(UnsupportedOperator, match=r"'read': data of shape \(5, 9\) and indices of shape \(2, 3\)"):
        run([node], {"x": _floats(5, 9), "at": np.zeros((2, 3), np.int64)}, {"read": ("f", (2, 3))})
