"""Matrix products in true single precision (CODEGEN_OP_DEF Gemm=Single): the bits of the reference, which agrees with
the exact integer model, and all mantissa bits of the factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.errors import UnsupportedOperator
from compiler.layers import productmath
from compiler.options import Options
from hw.formats import blockfloat, multiply_add
from hw.formats.descriptor import SINGLE
from tests.compiler import models
from tests.compiler.elementwise_cases import run

OPTIONS = {"float_dtype": "float", "envs": {"CODEGEN_OP_DEF": "Gemm=Single,MatMul=Single"}}


def test_reference_agrees_with_the_exact_model() -> None:
    rng = np.random.default_rng(1)
    left, right = (rng.standard_normal((n, 4)) * np.exp2(rng.integers(-4, 4, (n, 4))) for n in (40, 30))
    left, right = left.astype(np.float32), right.astype(np.float32)
    left[:4], right[0] = np.float32(2) - np.float32(2.0**-23), 0
    a, b = (productmath.block(x.view(np.uint32), "f") for x in (left, right))
    exact = productmath.multiply(a, b, None, "f")
    far = (rng.standard_normal(exact.shape) * np.exp2(rng.integers(-45, 34, exact.shape))).astype(np.float32)
    rows, columns = ([blockfloat.convert(r.tolist(), "f", 23) for r in x.view(np.uint32)] for x in (left, right))
    for addend in (np.zeros_like(exact), far, -exact):
        want = [
            [multiply_add.matrix_row(x, r, int(y), "f", SINGLE) for r, y in zip(columns, ys, strict=True)]
            for x, ys in zip(rows, addend.view(np.uint32), strict=True)
        ]
        np.testing.assert_array_equal(productmath.multiply(a, b, addend, "f").view(np.uint32), want)


@pytest.mark.parametrize(
    "rows, depth, columns, attrs",
    [
        (30, 20, 40, {}),
        (7, 13, 5, {"transA": 1}),
        (1, 1, 1, {"transB": 1}),
        (3, 257, 2, {"transA": 1, "transB": 1}),
        (33, 70, 21, {"transB": 1, "spread": "KKKN"}),
        (33, 70, 21, {"transA": 1, "spread": "MNKK"}),
        (16, 64, 8, {"transA": 1, "spread": "----"}),
    ],
)
def test_products(rows: int, depth: int, columns: int, attrs: dict[str, Any]) -> None:
    rng = np.random.default_rng(rows + depth)
    feeds = {
        "a": rng.standard_normal((depth, rows) if attrs.get("transA") else (rows, depth)).astype(np.float32),
        "b": rng.standard_normal((columns, depth) if attrs.get("transB") else (depth, columns)).astype(np.float32),
        "c": rng.standard_normal(columns).astype(np.float32),
    }
    node = helper.make_node("Gemm", [*feeds], ["y"], **attrs)
    _, got = run([node], feeds, {"y": ("f", (rows, columns))}, options=Options.resolve(OPTIONS, {}))
    a, b, c = (data.astype(np.float64) for data in feeds.values())
    a, b = a.T if attrs.get("transA") else a, b.T if attrs.get("transB") else b
    scale = np.abs(a).max(axis=1, keepdims=True) * np.abs(b).max(axis=0) * depth + np.abs(c)
    assert (np.abs(got["y"] - (a @ b + c)) <= 2.0**-22 * scale).all()


def test_unknown_implementation_is_refused() -> None:
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    model = models.build([node], {"a": ("float", [4, 4]), "b": ("float", [4, 4])}, {"y": ("float", [4, 4])})
    with pytest.raises(UnsupportedOperator, match="MatMul has no implementation 'Exact', use PseudoSingle or Single"):
        compile_model(model, Options.resolve({"envs": {"CODEGEN_OP_DEF": "MatMul=Exact"}}, {}))
