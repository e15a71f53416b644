"""Fused updates of one parameter and its states, made by the pass `fuse_optimizers` (compiler.md 3).

The domain has one name for each kind of optimizer; what exactly is computed stands in the attributes as a chain
(`compiler.chain`), so that every combination of settings gives the bits of the operators it was made of.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx.defs import OpSchema
from torch import Tensor

from compiler.chain import ADAM, ADAMW, CHAINS, MOMENTUM, OTHER, RESULTS, SGD, STEPS, Chain, Link
from compiler.domain import DOMAIN, VERSION
from compiler.pfvm.operators import elementwise
from compiler.pfvm.operators.record import Call, Charged, Operator

_STEPS = {operator.name: operator for operator in elementwise.OPERATORS}


def _evaluate(call: Call) -> list[Tensor]:
    values = list(call.inputs)
    chain = Chain.of(call.attributes)
    for link in chain.links:
        made = _STEPS[link.op_type].evaluate(Call([values[n] for n in link.operands], {}, call.device))
        assert isinstance(made, Tensor)  # all steps have one result
        values.append(made)
    return [_present(values, number) for number in chain.results]


def _present(values: list[Tensor | None], number: int) -> Tensor:
    value = values[number]
    if value is None:
        raise ValueError(f"value {number} is missing")
    return value


def _charge(charged: Charged) -> int:
    """The sum over the steps."""
    shapes: list[Any] = [() if shape is None else shape for shape in charged.inputs]
    total = 0
    for link in Chain.of(charged.attributes).links:
        given = [shapes[n] for n in link.operands]
        shapes.append(np.broadcast_shapes(*given))
        total += _STEPS[link.op_type].charge(Charged(given, [shapes[-1]], {}))
    return total


OPERATORS = tuple(Operator(name, _evaluate, _charge, domain=DOMAIN) for name in CHAINS)


def classify(chain: Chain, parameter: int) -> str:
    """The name for a chain whose last operation makes the new contents of operand `parameter`."""
    kinds = {link.op_type for link in chain.links}
    states = len(chain.results) - 1
    if states == 0 and kinds <= {"Add", "Sub", "Mul", "Div"}:
        return SGD
    if states == 1 and kinds <= {"Add", "Sub", "Mul", "Div"}:
        return MOMENTUM
    if states >= 2 and {"Sqrt", "Div"} <= kinds:
        return ADAMW if _decays(chain.links[:-1], parameter) else ADAM
    return OTHER


def _decays(links: tuple[Link, ...], parameter: int) -> bool:
    """Whether something is taken from the parameter before its update."""
    return any(link.op_type == "Sub" and link.operands[0] == parameter for link in links)


def _infer(context: onnx.shape_inference.InferenceContext) -> None:
    """Every output has the element type of the inputs and the shape they have together."""
    given = [kind for n in range(context.get_num_inputs()) if (kind := context.get_input_type(n)) is not None]
    if not all(kind.tensor_type.HasField("shape") for kind in given):
        return
    shapes = [tuple(dim.dim_value for dim in kind.tensor_type.shape.dim) for kind in given]
    shape = np.broadcast_shapes(*shapes) if all(math.prod(dims) for dims in shapes) else None
    for output in range(context.get_num_outputs()):
        result = onnx.helper.make_tensor_type_proto(given[0].tensor_type.elem_type, shape)
        context.set_output_type(output, result)


def schemas() -> list[OpSchema]:
    """The ONNX schemas."""
    made = []
    for name, doc in CHAINS.items():
        schema = OpSchema(
            name,
            DOMAIN,
            VERSION,
            doc=f"{doc[0].upper()}{doc[1:]}, element by element by the operations in `steps`.",
            inputs=[OpSchema.FormalParameter("x", "T", param_option=OpSchema.FormalParameterOption.Variadic)],
            outputs=[OpSchema.FormalParameter("y", "T", param_option=OpSchema.FormalParameterOption.Variadic)],
            type_constraints=[("T", ["tensor(float)", "tensor(double)", "tensor(float16)"], "any real number")],
            attributes=[
                OpSchema.Attribute(STEPS, OpSchema.AttrType.STRINGS, "operations: operator, operands", required=True),
                OpSchema.Attribute(RESULTS, OpSchema.AttrType.INTS, "numbers of the outputs", required=True),
            ],
        )
        schema.set_type_and_shape_inference_function(_infer)
        made.append(schema)
    return made
