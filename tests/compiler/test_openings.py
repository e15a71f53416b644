"""Softmax and its relatives, means, norms and losses: opened, compiled and run, against the reference and NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from compiler.codegen import compile_model
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models

OPTIONS = Options.resolve({}, {})


def _run(
    op_type: str,
    feeds: Mapping[str, NDArray[Any]],
    shape: Sequence[int],
    constants: Mapping[str, NDArray[Any]] | None = None,
    **attrs: Any,
) -> NDArray[np.float32]:
    """The one output of a model of one node, equal to the reference bit for bit."""
    names = [*feeds, *(constants or {})]
    node = helper.make_node(op_type, names, ["y"], **attrs)
    kinds = {name: ("int" if data.dtype.kind == "i" else "float", data.shape) for name, data in feeds.items()}
    compiled = compile_model(models.build([node], kinds, {"y": ("float", shape)}, constants=constants), OPTIONS)
    got = machine.run(compiled, feeds)["y"]
    raw = run_reference(compiled.graph, feeds)
    stored = next(name for name in compiled.outputs if name == "y")
    values = compiled.graph.values
    final = next(name for name in raw if name == "y" or name.startswith("y_Upload")) if stored else ""
    final = next((name for name in raw if name.startswith("y_Upload")), final)
    np.testing.assert_array_equal(got, raw[final].reshape(values[final].shape))
    return got.view(np.float32)


def _softmax(x: NDArray[Any], axis: int) -> NDArray[Any]:
    powers = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("shape, axis", [((125, 10), 1), ((7, 300), 0), ((3, 5, 6), -1)])
def test_softmax(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32) * 5
    want = _softmax(x, axis)
    np.testing.assert_allclose(_run("Softmax", {"x": x}, shape, axis=axis), want, rtol=3e-6, atol=1e-7)
    np.testing.assert_allclose(_run("LogSoftmax", {"x": x}, shape, axis=axis), np.log(want), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_means_and_norms(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).standard_normal((70, 33)).astype(np.float32)
    wide = x.astype(np.float64)
    shape = tuple(1 if n in axes else extent for n, extent in enumerate(x.shape))
    want = {
        "ReduceMean": wide.mean(axis=axes),
        "ReduceL1": np.abs(wide).sum(axis=axes),
        "ReduceL2": np.sqrt((wide * wide).sum(axis=axes)),
        "ReduceSumSquare": (wide * wide).sum(axis=axes),
        "ReduceLogSumExp": np.log(np.exp(wide).sum(axis=axes)),
    }
    for op_type, numbers in want.items():
        got = _run(op_type, {"x": x}, shape, {"axes": np.array(axes)})
        np.testing.assert_allclose(got, numbers.reshape(shape), rtol=3e-6, atol=1e-6, err_msg=op_type)
