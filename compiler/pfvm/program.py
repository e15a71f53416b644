"""A model prepared for running on torch, operator by operator; `run` is the one-shot form (devices `pfvm:*`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
import onnx_ir as ir
import torch
from torch import Tensor

from compiler.options.spelling import nearest
from compiler.pfvm.dtypes import to_torch, torch_dtype
from compiler.pfvm.errors import EvaluationError, FeedError, ModelError, UnknownOperatorError
from compiler.pfvm.operators import OPERATORS, Call, Operator
from compiler.pfvm.place import operator_name, place_of

OLDEST_OPSET = 13
"""Operator sets before 13 give Softmax, Squeeze and others another meaning."""


@dataclass(frozen=True)
class _Step:
    operator: Operator
    attributes: Mapping[str, Any]
    inputs: tuple[str | None, ...]
    outputs: tuple[str, ...]
    released: tuple[str, ...]
    name: str
    place: str


class PfvmProgram:
    """A model ready to run many times.

    model: any ONNX model of opset 13 or later made of operators in the table; device: a torch device string.
    Raises ModelError and UnknownOperatorError.  A call maps feeds (inputs, initializers to override) to outputs.
    """

    def __init__(self, model: onnx.ModelProto, device: str = "cpu") -> None:
        graph_model = ir.from_proto(model)
        self._device = torch.device(device)
        graph = graph_model.graph
        version = graph.opset_imports.get("", OLDEST_OPSET)
        if version < OLDEST_OPSET:
            raise ModelError(f"operator set {version} is too old, PFVM needs {OLDEST_OPSET} or later")
        self._signature = {value.name or "": value for value in [*graph.inputs, *graph.initializers.values()]}
        self._required = [value.name or "" for value in graph.inputs if value.name not in graph.initializers]
        self._constants = {
            name: to_torch(value.const_value).to(self._device)
            for name, value in graph.initializers.items()
            if value.const_value is not None
        }
        self.outputs = [value.name or "" for value in graph.outputs]
        self._steps = self._prepare(graph)

    def _prepare(self, graph: ir.Graph) -> list[_Step]:
        last_use: dict[str, ir.Node] = {}
        for node in graph:
            for value in node.inputs:
                if value is not None and value.name not in self.outputs:
                    last_use[value.name or ""] = node
        steps = []
        for node in graph:
            operator = OPERATORS.get((node.domain, node.op_type))
            if operator is None:
                known = nearest(node.op_type, [name for domain, name in OPERATORS if domain == node.domain])
                raise UnknownOperatorError(operator_name(node), place_of(node), known)
            inputs = tuple(value.name if value is not None else None for value in node.inputs)
            released = tuple({name for name in inputs if name is not None and last_use.get(name) is node})
            steps.append(
                _Step(
                    operator,
                    attribute_values(node),
                    inputs,
                    tuple(value.name or "" for value in node.outputs),
                    released,
                    operator_name(node),
                    place_of(node),
                )
            )
        return steps

    def __call__(self, feeds: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Outputs by name, on the program's device.  Raises FeedError and EvaluationError."""
        values: dict[str, Tensor] = dict(self._constants)
        values.update(self._check(feeds))
        with torch.no_grad():
            for step in self._steps:
                inputs = [None if name is None else values[name] for name in step.inputs]
                # Optional outputs that are not wanted have an empty name.
                results = zip(step.outputs, self._execute(step, inputs), strict=True)
                values.update((name, value) for name, value in results if name)
                for name in step.released:
                    values.pop(name, None)
        return {name: values[name] for name in self.outputs}

    def _execute(self, step: _Step, inputs: list[Tensor | None]) -> Sequence[Tensor]:
        """As many results as the step has outputs."""
        try:
            result = step.operator.evaluate(Call(inputs, step.attributes, self._device, len(step.outputs)))
        except Exception as error:
            raise EvaluationError(step.name, step.place, str(error)) from error
        results = (result,) if isinstance(result, Tensor) else result
        if len(results) < len(step.outputs):
            message = f"{len(step.outputs)} results are asked for, {len(results)} are supported"
            raise EvaluationError(step.name, step.place, message)
        return results[: len(step.outputs)]

    def _check(self, feeds: Mapping[str, Tensor]) -> dict[str, Tensor]:
        for name in self._required:
            if name not in feeds:
                raise FeedError(f"input '{name}' is missing; given are: {', '.join(feeds) or 'none'}")
        checked = {}
        for name, tensor in feeds.items():
            declared = self._signature.get(name)
            if declared is None:
                raise FeedError(f"the model has no input '{name}'{nearest(name, self._signature)}")
            shape, dtype = declared.shape, declared.dtype
            if dtype is not None and tensor.dtype != torch_dtype(dtype):
                raise FeedError(f"input '{name}' must be {torch_dtype(dtype)}, got {tensor.dtype}")
            if shape is not None and not _fits(tuple(tensor.shape), shape):
                raise FeedError(f"input '{name}' must have shape {tuple(shape)}, got {tuple(tensor.shape)}")
            checked[name] = tensor.detach().to(self._device)
        return checked


def _fits(actual: tuple[int, ...], declared: ir.Shape) -> bool:
    return len(actual) == len(declared) and all(
        not isinstance(d, int) or d == a for a, d in zip(actual, declared, strict=True)
    )


def attribute_values(node: ir.Node) -> dict[str, Any]:
    """Attributes as Python values; tensors as torch tensors."""
    values: dict[str, Any] = {}
    for name, attribute in node.attributes.items():
        value = attribute.value
        if attribute.type == ir.AttributeType.TENSOR:
            value = to_torch(value)
        elif attribute.type in (ir.AttributeType.INTS, ir.AttributeType.FLOATS):
            value = list(value)
        values[name] = value
    return values


def run(model: onnx.ModelProto, feeds: Mapping[str, Tensor], device: str = "cpu") -> dict[str, Tensor]:
    """Run a model once.  feeds: input name -> tensor; a name of an initializer overrides it.  See PfvmProgram."""
    return PfvmProgram(model, device)(feeds)


def static_shape(value: ir.Value) -> tuple[int, ...] | None:
    """The shape if it is known and has no symbol in it."""
    if value.shape is None or not value.shape.is_static():
        return None
    return tuple(int(extent) for extent in value.shape)  # type: ignore[arg-type]


def size_of(value: ir.Value) -> int | None:
    """Number of elements if the shape is static."""
    shape = static_shape(value)
    return None if shape is None else math.prod(shape)
