"""`export`: a Python step function as one ONNX model (mlsdk.md 14.1, seed 3.1.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import onnx
import onnx_ir as ir
import torch
from onnx_ir.tensor_adapters import TorchTensor

from compiler.frontend.constants import join_constants
from compiler.frontend.lower import lower
from compiler.frontend.naming import parameter_names, rename_values, update_name
from compiler.frontend.roles import PARAMETER, ROLE_KEY
from compiler.frontend.sequences import join_splits
from compiler.frontend.signature import StepFunction, check_inputs
from compiler.frontend.trace import Trace, trace


@dataclass(frozen=True)
class Exported:
    """An exported model.

    model: the Exported ONNX; parameters are initializers whose `value_info` is marked by ROLE_KEY.
    inputs: graph inputs in the order of the sample; `unused_inputs` are the sample's other keys.
    outputs: the function's result names in its order; the graph's outputs of `updates` follow them.
    params: initializer name -> the real tensor, in order of first use.
    updates: initializer name -> output that holds its new contents after a call.
    """

    model: onnx.ModelProto
    inputs: list[str]
    outputs: list[str]
    params: dict[str, torch.Tensor]
    unused_inputs: list[str] = field(default_factory=list)
    updates: dict[str, str] = field(default_factory=dict)


def export(
    function: StepFunction,
    inputs: Mapping[str, torch.Tensor],
    *,
    tensor_names: Callable[[torch.Tensor], str | None] = lambda tensor: None,
    training: bool = True,
) -> Exported:
    """Trace `function(mapping) -> mapping` with fake tensors and translate it to ONNX.

    Only names, shapes and dtypes of `inputs` matter.  Tensors that the function reaches in another way become
    parameters, named by `tensor_names(tensor)` or `attr_<n>`; the ones it changes in place are listed in `updates`.
    With `training=False` the function runs without recording gradients.  Nothing is computed: real tensors, modules,
    optimizers and random state are as before.

    Raises FrontendError (compiler/frontend/errors.py) with the user's source line.
    """
    sample = check_inputs(inputs)
    traced = trace(function, sample, training=training)
    names = parameter_names(traced.states, tensor_names)
    updates = {names[index]: update_name(names[index]) for index in traced.updates}
    model = lower(traced)
    _drop_extra_outputs(model, traced)
    join_splits(model)
    join_constants(model)
    rename_values(model, [*traced.inputs, *names], [*traced.outputs, *updates.values()])
    _parameters_to_initializers(model, dict(zip(names, traced.states, strict=True)))
    model.producer_name, model.producer_version = "fx2onnx", None
    return Exported(
        model=ir.to_proto(model),
        inputs=traced.inputs,
        outputs=traced.outputs,
        params=dict(zip(names, traced.states, strict=True)),
        unused_inputs=[name for name in sample if name not in traced.inputs],
        updates=updates,
    )


def _drop_extra_outputs(model: ir.Model, traced: Trace) -> None:
    for _ in range(traced.extras):
        model.graph.outputs.pop()


def _parameters_to_initializers(model: ir.Model, tensors: dict[str, torch.Tensor]) -> None:
    graph = model.graph
    for value in [value for value in graph.inputs if value.name in tensors]:
        graph.inputs.remove(value)
        name = value.name or ""
        tensor = TorchTensor(tensors[name].detach().contiguous(), name=name)
        value.const_value = tensor
        value.metadata_props[ROLE_KEY] = PARAMETER
        graph.register_initializer(value)
