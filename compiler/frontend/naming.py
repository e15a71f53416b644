"""Names of values in an exported model (seed 3.1.1, compiler.md 4).

Inputs and outputs have the function's names, parameters their tensor names or `attr_<n>`; every other value has
torch's name and the suffix `_fx2onnx`.  Values that torch does not name are `val_<n>`, counted in graph order.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import onnx_ir as ir
import torch

from compiler.frontend.errors import TensorNameError

SUFFIX = "_fx2onnx"
_ANONYMOUS = re.compile(r"val_\d+$")


def parameter_names(tensors: list[torch.Tensor], tensor_names: Callable[[torch.Tensor], str | None]) -> list[str]:
    """One name for each tensor, `attr_<n>` for the n-th nameless one.  Raises TensorNameError for a shared name."""
    names: list[str] = []
    nameless = 0
    for tensor in tensors:
        name = tensor_names(tensor)
        if name is None:
            name = f"attr_{nameless}"
            nameless += 1
        if name in names:
            raise TensorNameError(
                f"two tensors of the function are both called '{name}'",
                hint="give each module its own prefix in set_tensor_name_in_module",
            )
        names.append(name)
    return names


def update_name(parameter: str) -> str:
    """The output that carries the new contents of a parameter which the function changes in place."""
    return f"{parameter}@updated"


def rename_values(model: ir.Model, inputs: list[str], outputs: list[str]) -> None:
    """Name everything in `model`; graph inputs and outputs by position.  Raises TensorNameError for a clash.

    An output that is also an input or the same value as an earlier output gets a node `Identity` of its own.
    """
    graph = model.graph
    fixed = [*inputs, *outputs]
    for name in fixed:
        if fixed.count(name) > 1:
            raise TensorNameError(
                f"'{name}' is the name of two values among inputs, parameters and outputs",
                hint="rename the input, the output or the tensor",
            )
    _separate_outputs(graph)
    # Two steps, since a wanted name may still be in use by a value that is renamed later.
    wanted: dict[ir.Value, str] = {}
    wanted.update(zip(graph.inputs, inputs, strict=True))
    wanted.update(zip(graph.outputs, outputs, strict=True))
    taken = set(fixed)
    anonymous = 0
    constants = [value for value in graph.initializers.values() if value not in wanted]
    for index, value in enumerate(constants):
        wanted[value] = _free(f"const_{index}{SUFFIX}", taken)
    for node in graph:
        for value in node.outputs:
            if value in wanted or not value.name:
                continue
            if _ANONYMOUS.match(value.name):
                anonymous += 1
                wanted[value] = _free(f"val_{anonymous}{SUFFIX}", taken)
            else:
                wanted[value] = _free(f"{value.name}{SUFFIX}", taken)
    for index, value in enumerate(wanted):
        value.name = f"\0{index}"
    for value, name in wanted.items():
        value.name = name
    for node in graph:
        node.name = node.outputs[0].name


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _separate_outputs(graph: ir.Graph) -> None:
    seen: set[ir.Value] = set(graph.inputs) | set(graph.initializers.values())
    for index, value in enumerate(graph.outputs):
        if value in seen:
            node = ir.node("Identity", [value])
            node.outputs[0].type, node.outputs[0].shape = value.type, value.shape
            graph.append(node)
            graph.outputs[index] = node.outputs[0]
        seen.add(graph.outputs[index])
