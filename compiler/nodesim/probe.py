"""A probe: one node (or one transfer) with everything that its code depends on, and nothing else.

Names are replaced by positions, so that equal nodes of any graph are one probe; the key of a probe is a hash of its
text, of the chip's numbers and of the sources of the compiler.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.digest import joined_digest, source_digest
from compiler.graph import Location, MNGraph, MNNode, MNValue
from compiler.layers.registry import layer_of
from compiler.nodesim.patterns import Expectation, Pattern

DOWNLOAD, UPLOAD, IDENTITY = "MNCoreDownload", "MNCoreUpload", "Identity"
_TRANSFER = Pattern((), "LM", Expectation.CERTAIN)


@dataclass(frozen=True)
class Probe:
    """graph: the inputs and outputs of one node, without locations.  transfer: which transfer of the one value `i0` is
    meant instead of the node ("" = the node).
    """

    graph: MNGraph
    pattern: Pattern
    transfer: str = ""

    @property
    def label(self) -> str:
        """For messages: the operator and the pattern."""
        return self.transfer or f"{self.graph.nodes[-1].op_type} {self.pattern}"


def node_probe(graph: MNGraph, node: MNNode, pattern: Pattern) -> Probe:
    """The probe of a node under a pattern."""
    layer = layer_of(node)
    names: dict[str, str] = {}
    micro = MNGraph()
    for position, name in enumerate(node.inputs):
        if not name or name in names:
            continue
        names[name] = f"i{position}"
        value = graph.values[name]
        copy = _bare(value, names[name], constant=position not in layer.streamed)
        micro.add_value(copy)
        if value.loc is Location.IMM:
            copy.place_at(Location.IMM)
            micro.nodes.append(MNNode("Constant", copy.name, [], [copy.name]))
        else:
            micro.inputs.append(copy.name)
    for position, name in enumerate(node.outputs):
        names[name] = f"o{position}"
        micro.add_value(_bare(graph.values[name], names[name], constant=False))
    micro.outputs = [names[name] for name in node.outputs]
    inputs = [names.get(name, "") for name in node.inputs]
    micro.nodes.append(MNNode(node.op_type, "probe", inputs, list(micro.outputs), dict(node.attrs)))
    return Probe(micro, pattern)


def transfer_probe(value: MNValue, transfer: str) -> Probe:
    """The probe of a transfer of a value."""
    micro = MNGraph(inputs=["i0"])
    micro.add_value(_bare(value, "i0", constant=False))
    return Probe(micro, _TRANSFER, transfer)


def _bare(value: MNValue, name: str, *, constant: bool) -> MNValue:
    """A value without place; data only where code may depend on it (never data streamed from DRAM)."""
    made = MNValue(name, value.onnx_dtype, value.shape, value.dtype, value.layout, value.gene, value.pad_type)
    return replace(made, constant=value.constant if constant else None)


def probe_key(probe: Probe, chip_digest: str) -> str:
    """The content address of a probe's result."""
    graph = probe.graph
    text = {
        "transfer": probe.transfer,
        "pattern": [*probe.pattern.inputs, probe.pattern.output],
        "nodes": [[n.op_type, n.inputs, n.outputs, plain(n.attrs)] for n in graph.nodes],
        "values": [_value_text(value) for value in graph.values.values()],
    }
    return joined_digest([source_digest(), chip_digest.encode(), json.dumps(text, sort_keys=True).encode()])


def _value_text(value: MNValue) -> list[str]:
    constant = "" if value.constant is None else hashlib.sha256(value.constant.tobytes()).hexdigest()
    return [value.name, str(value.onnx_dtype), str(value.dtype), str(value.layout), str(value.pad_type), constant]


def plain(value: Any) -> Any:
    """An attribute value as something JSON can hold, different for different values."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    return repr(value)
