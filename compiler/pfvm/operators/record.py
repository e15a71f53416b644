"""The record of one operator: how it is computed on torch and what it costs (compiler.md 13)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """One execution: inputs (None where absent), attributes as Python values, device of new tensors, results wanted."""

    inputs: Sequence[Tensor | None]
    attributes: Mapping[str, Any]
    device: torch.device
    results: int = 1

    def __getitem__(self, index: int) -> Tensor:
        """A required input."""
        value = self.inputs[index]
        if value is None:
            raise ValueError(f"input {index} is missing")
        return value

    def optional(self, index: int) -> Tensor | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def present(self) -> list[Tensor]:
        """All inputs that are there, for operators with any number of them."""
        return [value for value in self.inputs if value is not None]

    def ints(self, index: int, attribute: str) -> list[int] | None:
        """Integers that older operator sets keep in an attribute and newer ones in an input; None if absent."""
        value = self.optional(index)
        if value is not None:
            return [int(v) for v in value.reshape(-1).tolist()]
        given = self.attributes.get(attribute)
        return None if given is None else [int(v) for v in given]


@dataclass(frozen=True)
class Charged:
    """What a charge may depend on: shapes of inputs (None where absent) and outputs, attributes."""

    inputs: Sequence[Shape | None]
    outputs: Sequence[Shape]
    attributes: Mapping[str, Any]

    @property
    def input_size(self) -> int:
        return math.prod(self.inputs[0] or ())

    @property
    def output_size(self) -> int:
        return math.prod(self.outputs[0])


Evaluate = Callable[[Call], Tensor | Sequence[Tensor]]
Charge = Callable[[Charged], int]


def free(_: Charged) -> int:
    """Moves or renames data: nothing is computed."""
    return 0


def per_output(count: int) -> Charge:
    """`count` operations for each element of the first output."""
    return lambda shapes: count * shapes.output_size


def per_input(count: int) -> Charge:
    """`count` operations for each element of the first input."""
    return lambda shapes: count * shapes.input_size


@dataclass(frozen=True)
class Operator:
    """name: ONNX operator type; domain: "" for the standard, "mncore" for ours; charge: operations of one execution."""

    name: str
    evaluate: Evaluate
    charge: Charge
    domain: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.domain, self.name)
