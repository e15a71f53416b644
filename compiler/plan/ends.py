"""The two ends of a program: forms that its inputs and outputs must have, because other programs share their data.

A constrained input lies in DRAM as it is told, whatever its readers would like; a constrained output is brought to its
form by the last nodes that make it.  New contents of a parameter get that parameter's padding where both lie alike, so
that they can be written over the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.errors import CompilerError
from compiler.graph import MNGraph, MNNode, MNType, MNValue, OnnxType, PadType, fill_bits
from compiler.graph.errors import nearest
from compiler.layout import PadLayout


@dataclass(frozen=True)
class Form:
    """How a value lies in DRAM.  `pad_bits`: the raw element in the padding; None: undefined."""

    layout: PadLayout
    dtype: MNType
    pad_bits: int | None


@dataclass(frozen=True)
class Ends:
    """forms: name of an input or output -> its form.  updates: parameter -> output that holds its new contents."""

    forms: Mapping[str, Form] = field(default_factory=dict)
    updates: Mapping[str, str] = field(default_factory=dict)

    def layout(self, name: str) -> PadLayout | None:
        """The layout that a result must have."""
        return self.forms[name].layout if name in self.forms else None

    def padding(self, name: str, graph: MNGraph) -> PadType | None:
        """What the padding of a result must hold, given its layout."""
        value = graph.values[name]
        if name in self.forms:
            return pad_type(name, self.forms[name])
        for param, output in self.updates.items():
            old = graph.values[param] if output == name and param in graph.params else None
            if old is not None and old.layout == value.layout and old.dtype is value.dtype:
                return None if old.pad_type is PadType.DIRTY else old.pad_type
        return None

    def fix(self, graph: MNGraph) -> None:
        """Give the constrained inputs their forms and the constrained outputs their element types.

        To be called when the element types are planned.  Raises CompilerError for a name that is no input or output,
        another shape, or an element type that the value cannot have.
        """
        known = [*graph.inputs, *graph.outputs]
        for name, form in self.forms.items():
            if name not in known:
                raise CompilerError(f"io_spec_constraints: {name!r} is no input or output{nearest(name, known)}")
            value = graph.values[name]
            if form.layout.shape != value.shape:
                raise CompilerError(
                    f"io_spec_constraints: {name!r} has shape {value.shape}, its spec is for {form.layout.shape}"
                )
            if form.dtype is not value.dtype:
                _check_types(value, form.dtype)
                (_cast_input if name in graph.inputs else _cast_output)(graph, value, form.dtype)
            if name in graph.inputs:
                value.layout = form.layout
                if form.layout.is_padded:
                    value.pad_type = pad_type(name, form) or PadType.DIRTY


def pad_type(name: str, form: Form) -> PadType | None:
    """The kind of padding that a form asks for; None: any.  Raises CompilerError for an element of no kind."""
    if form.pad_bits is None or not form.layout.is_padded:
        return None
    for kind in PadType:
        if kind is not PadType.DIRTY and fill_bits(kind, form.dtype) == form.pad_bits:
            return kind
    raise CompilerError(f"io_spec_constraints: {name!r}: no padding of {form.dtype} holds {form.pad_bits:#x}")


def _check_types(value: MNValue, wanted: MNType) -> None:
    convertible = {value.dtype, wanted} <= {MNType.HALF, MNType.FLOAT}
    if value.onnx_dtype is not OnnxType.FLOAT32 or not convertible:
        raise CompilerError(
            f"io_spec_constraints: {value.name!r} is {value.dtype} on the chip ({value.onnx_dtype}), "
            f"which cannot become {wanted}"
        )


def _cast_input(graph: MNGraph, value: MNValue, dtype: MNType) -> None:
    """Readers of the input get what they were planned for from a Cast."""
    made = _copy(graph, value)
    for node in graph.nodes:
        node.inputs = [made.name if name == value.name else name for name in node.inputs]
    value.dtype = dtype
    graph.nodes.insert(0, _cast(value.name, made.name))


def _cast_output(graph: MNGraph, value: MNValue, dtype: MNType) -> None:
    """The node that made the output makes a copy in its own type; a Cast makes the output."""
    made = _copy(graph, value)
    for node in graph.nodes:
        node.inputs = [made.name if name == value.name else name for name in node.inputs]
        node.outputs = [made.name if name == value.name else name for name in node.outputs]
    value.dtype = dtype
    graph.nodes.append(_cast(made.name, value.name))


def _copy(graph: MNGraph, value: MNValue) -> MNValue:
    name = graph.fresh_name(value.name, "Cast")
    return graph.add_value(MNValue(name, value.onnx_dtype, value.shape, value.dtype, gene=value.gene))


def _cast(source: str, target: str) -> MNNode:
    return MNNode("Cast", target, [source], [target], {"to": OnnxType.FLOAT32.code})
