"""What an operator is opened with: the nodes and values that take its place (`compiler.plan.opening`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.graph import MNGraph, MNNode, MNType, MNValue, OnnxType
from compiler.plan.immediates import place_immediate


class Opener:
    """Makes the nodes that take the place of one node; names derive from the first output of that node."""

    def __init__(self, graph: MNGraph, node: MNNode) -> None:
        self.graph, self.node = graph, node
        self.nodes: list[MNNode] = []

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a value."""
        return self.graph.values[name].shape

    def kind(self, name: str) -> OnnxType:
        """ONNX element type of a value."""
        return self.graph.values[name].onnx_dtype

    def make(self, op_type: str, *inputs: str, shape: Sequence[int], kind: OnnxType | None = None, **attrs: Any) -> str:
        """A node and the value it makes; `kind` is that of the first input unless given."""
        kind = kind or self.kind(inputs[0])
        dtype = MNType.FLOAT if kind is OnnxType.FLOAT32 else MNType.INT
        name = self.graph.fresh_name(self.node.outputs[0], op_type)
        self.graph.add_value(MNValue(name, kind, tuple(shape), dtype))
        self.nodes.append(MNNode(op_type, name, list(inputs), [name], attrs))
        return name

    def like(self, op_type: str, *inputs: str, kind: OnnxType | None = None) -> str:
        """An element-wise node on operands that are broadcast against each other."""
        shape = np.broadcast_shapes(*(self.shape(name) for name in inputs))
        return self.make(op_type, *inputs, shape=shape, kind=kind)

    def reduce(self, op_type: str, name: str, axes: Sequence[int], *, keep: bool = True) -> str:
        """A reduction."""
        kept = [1 if n in axes else extent for n, extent in enumerate(self.shape(name))]
        shape = kept if keep else [extent for n, extent in enumerate(self.shape(name)) if n not in axes]
        return self.make(op_type, name, shape=shape, axes=list(axes), keepdims=int(keep))

    def constant(self, data: Any, kind: OnnxType) -> str:
        """A parameter with fixed data."""
        array = np.asarray(data, kind.numpy)
        name = self.graph.fresh_name(self.node.outputs[0], "Constant")
        dtype = MNType.FLOAT if kind is OnnxType.FLOAT32 else MNType.INT
        self.graph.add_value(MNValue(name, kind, array.shape, dtype, constant=array))
        self.graph.params.append(name)
        return name

    def immediate(self, data: Any, kind: OnnxType) -> str:
        """Fixed data that a layer reads at compile time."""
        name = self.constant(data, kind)
        self.graph.params.remove(name)
        self.nodes.append(place_immediate(self.graph.values[name]))
        return name

    def positions(self, shape: Sequence[int], axis: int, kind: OnnxType) -> str:
        """0, 1, 2, ... along one axis of a tensor that has extent 1 along all others."""
        dims = [extent if n == axis else 1 for n, extent in enumerate(shape)]
        return self.constant(np.arange(shape[axis]).reshape(dims), kind)

    def finish(self, name: str, number: int = 0) -> None:
        """Let the value `name`, made here, be the output `number` of the node that is opened."""
        output = self.node.outputs[number]
        maker = next(node for node in self.nodes if name in node.outputs)
        maker.outputs[maker.outputs.index(name)] = output
        maker.name = self.node.name if number == 0 else maker.name
        for node in self.nodes:
            node.inputs[:] = [output if used == name else used for used in node.inputs]
        del self.graph.values[name]
