"""What the compiler cannot do it refuses with a typed error that names the node or value and what would be legal."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.errors import CompilerError, EmptyTensor, UnsupportedOperator
from compiler.options import Options
from tests.compiler import models

OPTIONS = Options.resolve({}, {})


def _single(
    op_type: str, shapes: dict[str, tuple[str, list[int]]], out: tuple[str, list[int]], **attrs: Any
) -> onnx.ModelProto:
    return models.build([helper.make_node(op_type, list(shapes), ["y"], **attrs)], shapes, {"y": out})


def _gemm(batch: int, depth: int, outputs: int, **attrs: Any) -> onnx.ModelProto:
    weight = np.zeros((outputs, depth), np.float32)
    node = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1, **attrs)
    x = {"x": ("float", [depth, batch] if attrs.get("transA") else [batch, depth])}
    return models.build([node], x, {"y": ("float", [batch, outputs])}, constants={"w": weight})


def test_unknown_operator_names_the_nearest_one() -> None:
    with pytest.raises(UnsupportedOperator, match=r"Relu6.*nearest known operator: Relu"):
        compile_model(_single("Relu6", {"x": ("float", [4])}, ("float", [4])), OPTIONS)


def test_spread_that_a_product_cannot_have() -> None:
    with pytest.raises(UnsupportedOperator, match=r"spread='KX-N'.*letter each for G, B, L1B and MAB"):
        compile_model(_gemm(8, 8, 8, spread="KX-N"), OPTIONS)


def test_operators_without_double_precision_name_the_rule_that_has_them() -> None:
    model = _single("Erf", {"x": ("float", [4])}, ("float", [4]))
    with pytest.raises(UnsupportedOperator, match=r"Erf 'y': element type Double .*use Float \(float_dtype=float"):
        compile_model(model, Options.resolve({"float_dtype": "double"}, {}))


def test_products_of_integers_and_operands_of_two_types_are_refused() -> None:
    with pytest.raises(UnsupportedOperator, match="cannot reduce Int to Int; use Float"):
        compile_model(_single("ReduceProd", {"x": ("int", [4, 5])}, ("int", [1, 1])), OPTIONS)
    with pytest.raises(UnsupportedOperator, match="cast one of them"):
        compile_model(_single("Equal", {"a": ("float", [4]), "b": ("int", [4])}, ("bool", [4])), OPTIONS)
    with pytest.raises(UnsupportedOperator, match="element type Float has no emitter, use Int"):
        compile_model(_single("And", {"a": ("float", [4]), "b": ("float", [4])}, ("bool", [4])), OPTIONS)


def test_dynamic_shape_names_the_value() -> None:
    model = _single("Relu", {"x": ("float", [4])}, ("float", [4]))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    with pytest.raises(CompilerError, match=r"'x'.*'batch'"):
        compile_model(model, OPTIONS)


@pytest.mark.parametrize("shape", [[0, 4], [3, 0]])
def test_tensor_without_elements_is_named(shape: list[int]) -> None:
    with pytest.raises(EmptyTensor, match=rf"'x' of shape \({shape[0]}, {shape[1]}\) has no elements"):
        compile_model(_single("Relu", {"x": ("float", shape)}, ("float", shape)), OPTIONS)


def test_implementations_of_operators_that_have_one_only_are_reported() -> None:
    options = Options.resolve({"envs": {"CODEGEN_OP_DEF": "Gather=GatherBcast,MatMul=PseudoSingle"}}, {})
    report = compile_model(_gemm(8, 8, 8), options).report
    assert report["options_without_effect"] == ["CODEGEN_OP_DEF Gather"]
