"""ONNX files as light rows: nodes, edges and counts, without the data of weights; also packed as .zst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtime.dashboard.folder import MIB, CodegenFolder, FileProblem

SUFFIXES = (".onnx", ".onnx.zst")
_MOST_BYTES = 2048 * MIB  # the limit of the format
_MOST_ATTRIBUTE = 120


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One operator.  `shapes`: those of the outputs, where the file tells them."""

    number: int
    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: str
    shapes: str

    def matches(self, words: str) -> bool:
        """Does every word occur somewhere in the row?  Upper and lower case are alike."""
        text = " ".join((self.name, self.op_type, *self.inputs, *self.outputs, self.attributes, self.shapes)).lower()
        return all(word in text for word in words.lower().split())


@dataclass(frozen=True, slots=True)
class OnnxView:
    """A model for viewing: its nodes in file order, and what goes in and out."""

    producer: str
    opsets: str
    nodes: tuple[NodeRow, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    initializers: int


def load_onnx(folder: CodegenFolder, name: str) -> OnnxView:
    """Read a model; kept until the file changes.  Raises FileProblem for what is none."""
    if not name.endswith(SUFFIXES):
        raise FileProblem(f"{name} is no ONNX file: expected a name that ends in {' or '.join(SUFFIXES)}", 400)
    return folder.parsed(name, lambda file: _read(file, folder.read(file, _MOST_BYTES)), "onnx")


def _read(name: str, data: bytes) -> OnnxView:
    import onnx
    from google.protobuf.message import DecodeError

    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise FileProblem(f"{name} is no complete ONNX model: {error}", 422) from error
    graph = model.graph
    if not graph.node and not graph.output:
        raise FileProblem(f"{name} holds no graph", 422)
    shapes = {_text(info.name): _shape(info) for info in (*graph.input, *graph.value_info, *graph.output)}
    return OnnxView(
        f"{_text(model.producer_name)} {_text(model.producer_version)}".strip(),
        ", ".join(f"{_text(entry.domain) or 'ai.onnx'} {entry.version}" for entry in model.opset_import),
        tuple(_row(number, node, shapes) for number, node in enumerate(graph.node)),
        tuple(f"{_text(info.name)} {shapes[_text(info.name)]}" for info in graph.input),
        tuple(f"{_text(info.name)} {shapes[_text(info.name)]}" for info in graph.output),
        len(graph.initializer),
    )


def _row(number: int, node: Any, shapes: dict[str, str]) -> NodeRow:
    op_type, domain = _text(node.op_type), _text(node.domain)
    outputs = tuple(_text(name) for name in node.output)
    return NodeRow(
        number,
        _text(node.name),
        f"{domain}.{op_type}" if domain else op_type,
        tuple(_text(name) for name in node.input),
        outputs,
        ", ".join(_attribute(attribute) for attribute in node.attribute),
        "; ".join(shapes[name] for name in outputs if name in shapes),
    )


def _text(value: str | bytes) -> str:
    """A string of a model; protobuf gives bytes for what is no UTF-8, as in a damaged file."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _attribute(attribute: Any) -> str:
    """`name=value`; tensors and graphs by their kind only."""
    import onnx

    kind = onnx.AttributeProto.AttributeType.Name(attribute.type)
    if kind in ("TENSOR", "TENSORS", "GRAPH", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "UNDEFINED"):
        return f"{_text(attribute.name)}=<{kind.lower()}>"
    value = onnx.helper.get_attribute_value(attribute)
    text = _text(value) if isinstance(value, bytes) else str(value)
    return f"{_text(attribute.name)}={text if len(text) <= _MOST_ATTRIBUTE else text[:_MOST_ATTRIBUTE] + '…'}"


def _shape(info: Any) -> str:
    import onnx

    if not info.type.HasField("tensor_type"):
        return ""
    tensor = info.type.tensor_type
    try:
        kind = onnx.TensorProto.DataType.Name(tensor.elem_type)
    except ValueError:
        kind = f"type {tensor.elem_type}"
    dims = tensor.shape.dim
    sizes = [str(dim.dim_value) if dim.HasField("dim_value") else _text(dim.dim_param) or "?" for dim in dims]
    return f"{kind}[{','.join(sizes)}]"
