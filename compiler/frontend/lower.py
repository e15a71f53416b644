"""From the functional ATen graph to an ONNX graph, by torch's ONNX exporter and onnxscript's operator library.

The exporter's optimiser stays off: the exported model follows the operators as torch traced them (seed 3.1.1).
"""

from __future__ import annotations

import re

import onnx_ir as ir
import torch
from onnx_ir.passes.common import InlinePass
from torch.fx import traceback as fx_traceback
from torch.onnx.errors import OnnxExporterError

from compiler.frontend.errors import UnsupportedOperatorError
from compiler.frontend.failures import quiet_loggers
from compiler.frontend.lift import SOURCE_KEY
from compiler.frontend.trace import Trace

OPSET = 20
"""Version of the standard operators in exported models."""

SOURCE_PROPERTY = "source"
"""Metadata key of a node: the user's line as `file.py:line`."""

_NO_TRANSLATION = re.compile(
    r"No (?:decompositions|ONNX function)[^<']*<OpOverload\(op='([\w:.]+)', overload='(\w+)'\)>"
)

_TORCH_TRACE_PROPERTY = "pkg.torch.onnx.stack_trace"


def lower(trace: Trace) -> ir.Model:
    """The ONNX graph with the trace's placeholders as inputs and its results as outputs, all under torch's names.

    Raises UnsupportedOperatorError with the operator and the user's line.
    """
    with fx_traceback.preserve_node_meta(), torch.no_grad():
        program = torch.export.export(trace.module, tuple(trace.examples), strict=False)
    for node in program.graph.nodes:
        # The one note of a node that the exporter carries over into the ONNX graph.
        node.meta["stack_trace"] = (node.meta.get("custom") or {}).get(SOURCE_KEY, "")
    with quiet_loggers():
        try:
            exported = torch.onnx.export(program, dynamo=True, optimize=False, verbose=False, opset_version=OPSET)
        except OnnxExporterError as error:
            raise _unsupported(error, program) from error
    assert exported is not None  # only an export straight into a file returns nothing
    model = exported.model
    if model.functions:
        model = InlinePass()(model).model
    _tidy_metadata(model)
    return model


def _unsupported(error: BaseException, program: torch.export.ExportedProgram) -> UnsupportedOperatorError:
    text = _chain(error)
    match = _NO_TRANSLATION.search(text)
    operator = f"{match[1].replace('::', '.')}.{match[2]}" if match else "unknown operator"
    place, origin = _origin(operator, program)
    where = (f", part of {origin}" if origin else "") + (f" (at {place})" if place else "")
    reason = "has no translation to ONNX" if match else f"could not be translated to ONNX: {_last_line(text)}"
    return UnsupportedOperatorError(operator, f"{operator}{where} {reason}", hint="write it with other operators")


def _origin(operator: str, program: torch.export.ExportedProgram) -> tuple[str, str]:
    """The user's line of an operator; and, where the exporter made it of another one, that other one."""
    for node in program.graph.nodes:
        if str(node.target) == operator and node.meta.get("stack_trace"):
            return str(node.meta["stack_trace"]), ""
    from torch.onnx._internal.exporter import _decomp, _registration

    known = _decomp.get_onnx_implemented_overloads(_registration.ONNXRegistry.from_torchlib(opset_version=OPSET))
    with fx_traceback.preserve_node_meta(), quiet_loggers():
        opened = program.run_decompositions(_decomp.create_onnx_friendly_decomposition_table(known))  # type: ignore[arg-type]
    kept = {str(node.target) for node in opened.graph.nodes}
    for node in opened.graph.nodes:
        place = node.meta.get("stack_trace")
        if str(node.target) == operator and place:
            there = [str(other.target) for other in program.graph.nodes if other.meta.get("stack_trace") == place]
            return str(place), next((target for target in there if target not in kept), "")
    return "", ""


def _chain(error: BaseException | None) -> str:
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__
    return "\n".join(texts)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _tidy_metadata(model: ir.Model) -> None:
    """Keep the user's line of each node, drop the exporter's notes: they hold paths and double the size of the file."""
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        source = node.metadata_props.get(_TORCH_TRACE_PROPERTY, "")
        node.metadata_props.clear()
        if source:
            node.metadata_props[SOURCE_PROPERTY] = source
        node.doc_string = None
        for value in node.outputs:
            value.metadata_props.clear()
    for value in [*model.graph.inputs, *model.graph.outputs, *model.graph.initializers.values()]:
        value.metadata_props.clear()
    model.metadata_props.clear()
    model.graph.metadata_props.clear()
    model.graph.doc_string = None
