"""A random ONNX graph under construction: values of odd shapes, and feeds that keep them in range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import helper

Shape = tuple[int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 64, 67)


@dataclass(frozen=True)
class Value:
    """A value of the graph: `kind` is "float", "int" or "bool"."""

    name: str
    kind: str
    shape: Shape


@dataclass
class Drawn:
    """A model with its inputs' data; printing it shows the operators."""

    model: onnx.ModelProto
    feeds: dict[str, NDArray[Any]]

    def __repr__(self) -> str:
        graph = self.model.graph
        shapes = {t.name: tuple(t.dims) for t in graph.initializer} | {n: d.shape for n, d in self.feeds.items()}
        lines = [
            f"{', '.join(n.output)} = {n.op_type}({', '.join(f'{i}{shapes.get(i, str())}' for i in n.input)}"
            f"{''.join(f', {a.name}={helper.get_attribute_value(a)}' for a in n.attribute)})"
            for n in graph.node
        ]
        return "\n".join(["", *lines, "-> " + ", ".join(o.name for o in graph.output)])


@dataclass
class Maker:
    """A graph under construction."""

    draw: Draw
    limit: int
    extents: tuple[int, ...] = EXTENTS
    values: list[Value] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    feeds: dict[str, NDArray[Any]] = field(default_factory=dict)
    inputs: dict[str, Value] = field(default_factory=dict)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.draw(st.integers(0, 2**32 - 1)))

    def shape(self, least_rank: int = 0, most_rank: int = 3) -> Shape:
        rank = self.draw(st.integers(least_rank, most_rank))
        while True:
            shape = tuple(self.draw(st.sampled_from(self.extents)) for _ in range(rank))
            if np.prod(shape, dtype=int) <= self.limit:
                return shape
            rank = max(least_rank, rank - 1)

    def input(self, kind: str, shape: Shape) -> Value:
        value = Value(f"x{len(self.inputs)}", kind, shape)
        rng = self.rng()
        data: NDArray[Any] = {
            "int": rng.integers(-5, 6, shape),
            "bool": rng.integers(0, 2, shape).astype(bool),
            "float": rng.standard_normal(shape).astype(np.float32),
        }[kind]
        self.feeds[value.name] = np.asarray(data)
        self.inputs[value.name] = value
        self.values.append(value)
        return value

    def constant(self, data: NDArray[Any]) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = data
        return name

    def node(self, op: str, inputs: list[str], kind: str, shape: Shape, **attributes: Any) -> Value:
        value = Value(f"v{len(self.nodes)}_{op}", kind, shape)
        self.nodes.append(helper.make_node(op, inputs, [value.name], name=value.name, **attributes))
        self.values.append(value)
        return value

    def pick(self, kind: str, *, least_rank: int = 0) -> Value:
        """A value of that kind; later ones are likelier, and a fresh input appears where there is none."""
        fitting = [v for v in self.values if v.kind == kind and len(v.shape) >= least_rank]
        if not fitting:
            return self.input(kind, self.shape(least_rank))
        return self.draw(st.sampled_from(fitting[-4:]))

    def partner(self, value: Value) -> str:
        """An operand that broadcasts against `value` without enlarging it."""
        same = [v.name for v in self.values if v.kind == value.kind and v.shape == value.shape]
        if same and self.draw(st.booleans()):
            return self.draw(st.sampled_from(same))
        shape = list(value.shape[self.draw(st.integers(0, len(value.shape))) :])
        for axis in range(len(shape)):
            if self.draw(st.integers(0, 3)) == 0:
                shape[axis] = 1
        rng = self.rng()
        if value.kind == "int":
            return self.constant(rng.integers(-4, 5, shape))
        return self.constant(np.asarray(rng.uniform(0.5, 2.0, shape) * rng.choice([-1, 1], shape), np.float32))

    def axis(self, value: Value) -> int:
        return self.draw(st.integers(0, len(value.shape) - 1))
