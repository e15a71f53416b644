"""The operator table against ONNX's own reference implementation, and against its generated node tests."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from compiler.frontend.lower import OPSET
from compiler.pfvm import DOMAIN, register_schemas, run
from compiler.pfvm.operators import OPERATORS
from tests.pfvm.cases import CASES, Case


def _model(case: Case) -> onnx.ModelProto:
    names = [f"i{index}" if value is not None else "" for index, value in enumerate(case.inputs)]
    outputs = [f"o{index}" for index in range(case.outputs)]
    node = helper.make_node(case.operator, names, outputs, **case.attributes)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype), value.shape)
        for name, value in zip(names, case.inputs, strict=True)
        if value is not None
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "case", inputs, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_operator_follows_the_reference(case: Case) -> None:
    model = _model(case)
    arrays = {f"i{index}": np.asarray(value) for index, value in enumerate(case.inputs) if value is not None}
    expected = ReferenceEvaluator(model).run(None, arrays)
    got = run(model, {name: torch.from_numpy(array.copy()) for name, array in arrays.items()})
    for index, want in enumerate(expected):
        value = got[f"o{index}"].numpy()
        want = np.asarray(want)
        assert value.shape == want.shape and value.dtype == want.dtype
        np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-6)


def test_every_operator_has_a_case() -> None:
    standard = {name for domain, name in OPERATORS if domain == ""}
    assert standard == {case.operator for case in CASES}


@pytest.mark.parametrize("axes", [None, [1], [0, 2], [-1]])
@pytest.mark.parametrize("keepdims", [None, 0, 1])
def test_cast_reduce_sum(axes: list[int] | None, keepdims: int | None) -> None:
    register_schemas()
    x = torch.tensor([True, False, True, True, False, True]).reshape(1, 2, 3)
    attributes: dict[str, Any] = {"to": TensorProto.INT64}
    if axes is not None:
        attributes["axes"] = axes
    if keepdims is not None:
        attributes["keepdims"] = keepdims
    node = helper.make_node("ChainerCastReduceSum", ["x"], ["y"], domain=DOMAIN, **attributes)
    value = helper.make_tensor_value_info("x", TensorProto.BOOL, x.shape)
    graph = helper.make_graph([node], "g", [value], [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)])
    expected = x.to(torch.int64).sum(dim=axes or (0, 1, 2), keepdim=keepdims != 0)
    assert torch.equal(run(model, {"x": x})["y"], expected)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(inferred)
    shape = [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim]
    assert shape == list(expected.shape)
    assert inferred.graph.output[0].type.tensor_type.elem_type == TensorProto.INT64


# What the table leaves out on purpose: unsigned types beyond 8 bits, training modes, indices of a pooling, the
# reduction of nothing, optional values and sequences.
_LEFT_OUT = ("training", "uint16", "uint32", "uint64", "argmax_2d_precomputed", "empty_set", "identity_opt", "sequence")


@pytest.mark.slow
def test_generated_node_tests_of_onnx() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    passed, failures = 0, []
    for case in cases:
        assert case.model is not None and case.data_sets is not None
        graph = case.model.graph
        known = len(graph.node) == 1 and (graph.node[0].domain, graph.node[0].op_type) in OPERATORS
        if not known or case.model.opset_import[0].version < 13 or any(word in case.name for word in _LEFT_OUT):
            continue
        for inputs, outputs in case.data_sets:
            try:
                tensors = [torch.from_numpy(np.array(value)) for value in inputs]
            except TypeError:
                continue  # strings, sequences and 8-bit floats
            try:
                got = run(case.model, dict(zip([value.name for value in graph.input], tensors, strict=True)))
                for value, want in zip(graph.output, outputs, strict=True):
                    result = got[value.name].numpy()
                    assert result.shape == want.shape and result.dtype == want.dtype
                    np.testing.assert_allclose(result.astype(float), want.astype(float), rtol=1e-3, atol=1e-6)
                passed += 1
            except Exception as error:
                failures.append(f"{case.name}: {str(error)[:200]}")
    assert not failures
    assert passed > 500
