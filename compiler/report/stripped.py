"""l3ir_stripped.onnx.zst: the scheduled graph as ONNX without data, for viewers; what ONNX cannot say is metadata."""

from __future__ import annotations

from typing import Any

from compiler.domain import DOMAIN, VERSION
from compiler.graph import MNGraph, MNNode, MNValue

_STANDARD_DOMAIN = ""
_OWN_PREFIXES = ("MNCore", "Chainer")


def stripped_onnx(graph: MNGraph) -> bytes:
    """The zstd-compressed model.  Parameters are inputs; layout, location and the rest are metadata of values."""
    import zstandard
    from onnx import helper

    made = [name for node in graph.nodes for name in node.outputs]
    inside = [name for name in made if name not in graph.outputs]
    proto = helper.make_graph(
        [_node(node) for node in graph.nodes],
        "l3ir",
        [_info(graph.values[name]) for name in (*graph.inputs, *graph.params)],
        [_info(graph.values[name]) for name in graph.outputs],
        value_info=[_info(graph.values[name]) for name in inside],
    )
    opsets = [helper.make_opsetid(_STANDARD_DOMAIN, 18), helper.make_opsetid(DOMAIN, VERSION)]
    model = helper.make_model(proto, opset_imports=opsets, producer_name="codegen")
    return zstandard.ZstdCompressor(level=10).compress(model.SerializeToString(deterministic=True))


def _node(node: MNNode) -> Any:
    from onnx import helper

    domain = DOMAIN if node.op_type.startswith(_OWN_PREFIXES) else _STANDARD_DOMAIN
    made = helper.make_node(node.op_type, node.inputs, node.outputs, name=str(node), domain=domain)
    for key, value in node.attrs.items():
        if isinstance(value, (int, float, str, bytes)) or (isinstance(value, (list, tuple)) and value):
            made.attribute.append(helper.make_attribute(key, value))
    return made


def _info(value: MNValue) -> Any:
    from onnx import StringStringEntryProto, helper

    info = helper.make_tensor_value_info(value.name, value.onnx_dtype.code, value.shape)
    facts = {
        "dtype": value.dtype,
        "layout": value.layout,
        "gene": ",".join(value.gene),
        "pad_type": value.pad_type,
        "loc": value.loc,
        "addr": value.addr,
        "parent": value.parent,
    }
    info.metadata_props.extend(
        StringStringEntryProto(key=key, value=str(fact)) for key, fact in facts.items() if fact not in (None, "")
    )
    return info
