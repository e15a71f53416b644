"""Data-movement operators, compiled and run on the simulated chip, bit for bit against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from compiler.codegen import compile_model
from compiler.layers.reference import run_reference
from compiler.layers.registry import layer_of
from compiler.options import Options
from compiler.plan.importer import import_model
from tests.compiler import machine, models

OPTIONS = Options.resolve({}, {})
Array = NDArray[Any]


def ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def check(
    op_type: str,
    feeds: Mapping[str, Array],
    constants: Mapping[str, Array],
    expected: Mapping[str, Array],
    **attrs: Any,
) -> None:
    """Run one operator with inputs `feeds`, then `constants`, and compare all outputs."""
    kinds = {"i": "int", "f": "float"}
    names = [*feeds, *constants]
    model = models.build(
        [helper.make_node(op_type, names, list(expected), **attrs)],
        {name: (kinds[value.dtype.kind], value.shape) for name, value in feeds.items()},
        {name: (kinds[value.dtype.kind], value.shape) for name, value in expected.items()},
        constants=constants,
    )
    compiled = compile_model(model, OPTIONS)
    got = machine.run(compiled, feeds)
    raw = run_reference(compiled.graph, feeds)
    for name, value in expected.items():
        bits = value.astype(np.int32 if value.dtype.kind == "i" else np.float32).view(np.uint32)
        np.testing.assert_array_equal(got[name], bits, err_msg=name)
        np.testing.assert_array_equal(raw[name], bits, err_msg=f"reference of {name}")


def data(shape: tuple[int, ...], kind: str = "f") -> Array:
    rng = np.random.default_rng(len(shape) + sum(shape))
    if kind == "i":
        return rng.integers(-(2**31), 2**31, shape)
    return rng.standard_normal(shape).astype(np.float32)


SLICES: list[tuple[tuple[int, ...], tuple[slice, ...]]] = [
    ((125, 7), (slice(3, 70), slice(None))),
    ((13, 29), (slice(None), slice(28, 2, -3))),
    ((61,), (slice(60, None, -1),)),
    ((5, 6, 7), (slice(1, 4), slice(None, None, 2), slice(-3, None))),
    ((200, 12), (slice(None, None, 5), slice(11, None, -1))),
]


@pytest.mark.parametrize("shape, cut", SLICES)
@pytest.mark.parametrize("kind", ["f", "i"])
def test_slice(shape: tuple[int, ...], cut: tuple[slice, ...], kind: str) -> None:
    x = data(shape, kind)
    axes = range(len(cut))
    bounds = [part.indices(shape[axis]) for axis, part in enumerate(cut)]
    ends = [end if step > 0 or end >= 0 else -(2**31) for _, end, step in bounds]
    constants = {
        "starts": ints(*(start for start, _, _ in bounds)),
        "ends": ints(*ends),
        "axes": ints(*axes),
        "steps": ints(*(step for _, _, step in bounds)),
    }
    check("Slice", {"x": x}, constants, {"y": x[cut]})


@pytest.mark.parametrize("axis, shapes", [(0, [(5, 7), (13, 7)]), (1, [(61, 3), (61, 8), (61, 1)]), (-1, [(4,), (9,)])])
def test_concat(axis: int, shapes: list[tuple[int, ...]]) -> None:
    feeds = {f"x{k}": data(shape, "i") for k, shape in enumerate(shapes)}
    check("Concat", feeds, {}, {"y": np.concatenate(list(feeds.values()), axis)}, axis=axis)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad(mode: str) -> None:
    x = data((7, 11))
    numpy_mode: Any = mode
    padded = np.pad(x, [(2, 1), (0, 3)], numpy_mode)
    check("Pad", {"x": x}, {"pads": ints(2, 0, 1, 3)}, {"y": padded}, mode=mode)


def test_pad_with_a_value_on_some_axes() -> None:
    x = data((70, 5))
    constants = {"pads": ints(3, 4), "value": np.array(-1.5, np.float32), "axes": ints(0)}
    check("Pad", {"x": x}, constants, {"y": np.pad(x, [(3, 4), (0, 0)], constant_values=-1.5)})


@pytest.mark.parametrize("shape, target", [((7, 1), (7, 5)), ((3,), (61, 3)), ((1, 13, 1), (4, 13, 3)), ((1,), (125,))])
def test_expand(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    x = data(shape)
    check("Expand", {"x": x}, {"shape": ints(*target)}, {"y": np.broadcast_to(x, target)})


def test_tile() -> None:
    x = data((5, 7), "i")
    check("Tile", {"x": x}, {"repeats": ints(3, 2)}, {"y": np.tile(x, (3, 2))})


def test_split_in_uneven_parts() -> None:
    x = data((13, 17), "i")
    parts = np.split(x, [3, 8], axis=1)
    check("Split", {"x": x}, {"split": ints(3, 5, 9)}, {f"y{k}": part for k, part in enumerate(parts)}, axis=1)


RESHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((100, 3), (6, 50)),
    ((7, 13), (91,)),
    ((125, 2, 3), (25, 30)),
    ((5,), (5, 1)),
]


@pytest.mark.parametrize("shape, target", RESHAPES)
def test_reshape(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    x = data(shape)
    check("Reshape", {"x": x}, {"shape": ints(*target)}, {"y": x.reshape(target)})


@pytest.mark.parametrize("perm", [(1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_transpose(perm: tuple[int, ...]) -> None:
    x = data((13, 5, 9), "i")
    check("Transpose", {"x": x}, {}, {"y": x.transpose(perm)}, perm=perm)


def _then_gemm(op: Callable[[Array], Array], x: Array, node: Any, constants: dict[str, Array]) -> None:
    """The result of a move as the operand of a matrix product: Half, padded, in the layout that the product wants."""
    moved = op(x)
    weight = np.random.default_rng(5).standard_normal((moved.shape[1], 16)).astype(np.float32)
    nodes = [node, helper.make_node("Gemm", ["m", "w"], ["y"])]
    model = models.build(
        nodes,
        {"x": ("float", x.shape)},
        {"y": ("float", [moved.shape[0], 16])},
        {"m": ("float", moved.shape)},
        {"w": weight, **constants},
    )
    compiled = compile_model(model, OPTIONS)
    raw = run_reference(compiled.graph, {"x": x})
    np.testing.assert_array_equal(machine.run(compiled, {"x": x})["y"], raw["y"])


def test_moves_in_front_of_a_matrix_product() -> None:
    x = data((70, 45))
    node = helper.make_node("Slice", ["x", "starts", "ends", "axes"], ["m"])
    constants = {"starts": ints(5, 3), "ends": ints(66, 40), "axes": ints(0, 1)}
    _then_gemm(lambda a: a[5:66, 3:40], x, node, constants)
    _then_gemm(lambda a: np.tile(a, (1, 2)), x, helper.make_node("Tile", ["x", "r"], ["m"]), {"r": ints(1, 2)})


@pytest.mark.parametrize("axis, index", [(0, [[3, -1], [0, 60], [7, 7]]), (1, [4, 2, 2, -5]), (1, 3)])
def test_gather_with_constant_indices(axis: int, index: Any) -> None:
    x = data((61, 5))
    taken = np.asarray(index, np.int64)
    check("Gather", {"x": x}, {"index": taken}, {"y": np.take(x, taken, axis)}, axis=axis)


def test_results_without_axes() -> None:
    x = data((102,))
    check("Gather", {"x": x}, {"index": np.array(77)}, {"y": x[77]}, axis=0)
    check("Expand", {"x": x[3]}, {"shape": np.array([1], np.int64)[:0]}, {"y": x[3]})


def test_gather_elements_with_constant_indices() -> None:
    x = data((13, 7), "i")
    index = np.random.default_rng(3).integers(-13, 13, (5, 7))
    check("GatherElements", {"x": x}, {"i": index}, {"y": np.take_along_axis(x, index, 0)}, axis=0)


@pytest.mark.parametrize("shape, axis, taken", [((61, 5), 0, (70,)), ((7, 300, 3), 1, (4, 5)), ((1200, 40), 0, (9, 3))])
@pytest.mark.parametrize("kind", ["f", "i"])
def test_gather_with_run_time_indices(shape: tuple[int, ...], axis: int, taken: tuple[int, ...], kind: str) -> None:
    """From DRAM; the last source passes in several chunks."""
    x = data(shape, kind)
    index = np.random.default_rng(4).integers(-shape[axis], shape[axis], taken)
    check("Gather", {"x": x, "index": index}, {}, {"y": np.take(x, index, axis)}, axis=axis)


def test_gather_from_a_computed_source() -> None:
    x = data((30, 20))
    index = np.random.default_rng(6).integers(-30, 30, (11,))
    nodes = [helper.make_node("Relu", ["x"], ["m"]), helper.make_node("Gather", ["m", "index"], ["y"])]
    model = models.build(
        nodes,
        {"x": ("float", x.shape), "index": ("int", index.shape)},
        {"y": ("float", [11, 20])},
        {"m": ("float", x.shape)},
    )
    compiled = compile_model(model, OPTIONS)
    assert any(node.op_type == "MNCoreGather" for node in compiled.graph.nodes)
    got = machine.run(compiled, {"x": x, "index": index})["y"].view(np.float32)
    np.testing.assert_array_equal(got, np.maximum(x, 0)[index])


@pytest.mark.parametrize("axis, shape", [(-1, (70,)), (0, (13,)), (1, (5, 9))])
def test_one_hot(axis: int, shape: tuple[int, ...]) -> None:
    """Negative indices count from the end; indices out of range give rows of `off`."""
    depth = 11
    index = np.random.default_rng(7).integers(-14, 14, shape)
    wrapped = np.where(index < 0, index + depth, index)
    hot = np.where(wrapped[..., None] == np.arange(depth), 2.5, -1.0).astype(np.float32)
    expected = np.moveaxis(hot, -1, axis)
    constants = {"depth": ints(depth), "values": np.array([-1.0, 2.5], np.float32)}
    check("OneHot", {"index": index}, constants, {"y": expected}, axis=axis)


def test_constants_as_results() -> None:
    check("ConstantOfShape", {}, {"shape": ints(7, 3)}, {"y": np.zeros((7, 3), np.float32)})
    check("Range", {}, {"a": ints(5)[0], "b": ints(-40)[0], "d": ints(-3)[0]}, {"y": np.arange(5, -40, -3)})


CUTS: list[tuple[str, tuple[int, ...], dict[str, Array], dict[str, Any], tuple[int, ...]]] = [
    ("Slice", (6, 8, 4), {"s": ints(1), "e": ints(5), "a": ints(1)}, {}, (6, 4, 4)),
    ("Pad", (6, 8), {"p": ints(0, 2, 0, 1)}, {}, (6, 11)),
    ("Tile", (6, 8), {"r": ints(1, 3)}, {}, (6, 24)),
    ("Expand", (6, 1, 4), {"t": ints(6, 5, 4)}, {}, (6, 5, 4)),
    ("Gather", (6, 8), {"i": ints(3, 1)}, {"axis": 1}, (6, 2)),
    ("Gather", (6, 8), {"i": ints(*range(8))}, {"axis": 1}, (6, 8)),
]


@pytest.mark.parametrize("case", CUTS, ids=lambda case: str(case[0]))
def test_slice_axes_cut_into_independent_parts(case: Any) -> None:
    """Along every axis that a layer offers, the parts of the result are the results of the parts."""
    op_type, shape, constants, attrs, out = case
    model = models.build(
        [helper.make_node(op_type, ["x", *constants], ["y"], **attrs)],
        {"x": ("int", shape)},
        {"y": ("int", out)},
        constants=constants,
    )
    graph = import_model(model)
    (node,) = [node for node in graph.nodes if node.op_type != "Constant"]
    layer = layer_of(node)
    x = np.arange(int(np.prod(shape)), dtype=np.uint32).reshape(shape)
    (whole,) = layer.reference(node, graph, [x])
    offered = list(layer.slice_axes(node, graph))
    indexed = {1} if op_type == "Gather" else set()
    assert {cut.outputs[0] for cut in offered} == {k for k, n in enumerate(shape) if n == out[k]} - indexed
    for cut in offered:
        parts = []
        for part in np.split(x, 2, cut.inputs[0]):
            small = graph.copy()
            small.values["x"].shape = part.shape
            small.values["y"].shape = tuple(n // 2 if k == cut.outputs[0] else n for k, n in enumerate(out))
            parts += layer.reference(node, small, [part])
        np.testing.assert_array_equal(np.concatenate(parts, cut.outputs[0]), whole)
