"""The operators of domain `mncore`: their ONNX schemas and records (compiler.md 3); those of gradients are in
`gradients`.

Names begin with `Chainer` or `MNCore`, as the vendor's do.
"""

from __future__ import annotations

import onnx
from onnx.defs import OpSchema
from torch import Tensor

from compiler.domain import DOMAIN, VERSION
from compiler.pfvm.dtypes import torch_dtype
from compiler.pfvm.operators import gradients, optimizers
from compiler.pfvm.operators.logic import convert
from compiler.pfvm.operators.record import Call, Operator, per_input
from compiler.pfvm.operators.reduction import reduce_axes, sum_axes

CAST_REDUCE_SUM = "ChainerCastReduceSum"

_ELEMENT_TYPES = ["float", "double", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def _cast_reduce_sum(call: Call) -> Tensor:
    x = convert(call[0], torch_dtype(call.attributes["to"]))
    axes = reduce_axes(call, x.ndim) or ()
    return sum_axes(x, axes, bool(call.attributes.get("keepdims", 1))) if axes else x


# Candidate A of compiler.md 13.2: a conversion and an addition for each element.
OPERATORS = (Operator(CAST_REDUCE_SUM, _cast_reduce_sum, per_input(2), domain=DOMAIN),)


def _infer_cast_reduce_sum(context: onnx.shape_inference.InferenceContext) -> None:
    attributes = {name: context.get_attribute(name) for name in ("to", "axes", "keepdims")}
    source = context.get_input_type(0)
    result = onnx.TypeProto()
    assert attributes["to"] is not None  # the schema requires it
    result.tensor_type.elem_type = attributes["to"].i
    if source is not None and source.tensor_type.HasField("shape"):
        dims = source.tensor_type.shape.dim
        axes = [a % len(dims) for a in attributes["axes"].ints] if attributes["axes"] is not None else range(len(dims))
        keep = attributes["keepdims"] is None or attributes["keepdims"].i
        result.tensor_type.shape.SetInParent()
        for index, dim in enumerate(dims):
            if index not in axes:
                result.tensor_type.shape.dim.add().CopyFrom(dim)
            elif keep:
                result.tensor_type.shape.dim.add().dim_value = 1
    context.set_output_type(0, result)


def _cast_reduce_sum_schema() -> OpSchema:
    numbers = [f"tensor({name})" for name in _ELEMENT_TYPES]
    schema = OpSchema(
        CAST_REDUCE_SUM,
        DOMAIN,
        VERSION,
        doc="ReduceSum(Cast(x, to), axes): the elements are converted first, then added in the type `to`.",
        inputs=[OpSchema.FormalParameter("x", "T")],
        outputs=[OpSchema.FormalParameter("y", "U")],
        type_constraints=[
            ("T", numbers, "any number or truth value"),
            ("U", numbers, "the element type `to`"),
        ],
        attributes=[
            OpSchema.Attribute("to", OpSchema.AttrType.INT, "element type of the sum", required=True),
            OpSchema.Attribute("axes", OpSchema.AttrType.INTS, "axes to reduce; all if absent", required=False),
            OpSchema.Attribute("keepdims", onnx.helper.make_attribute("keepdims", 1), "keep reduced axes as 1"),
        ],
    )
    schema.set_type_and_shape_inference_function(_infer_cast_reduce_sum)
    return schema


def register_schemas() -> None:
    """Make the operators known to onnx.checker and onnx.shape_inference of this process; more calls change nothing."""
    for schema in (_cast_reduce_sum_schema(), *gradients.schemas(), *optimizers.schemas()):
        if not onnx.defs.has(schema.name, DOMAIN):
            onnx.defs.register_schema(schema)
