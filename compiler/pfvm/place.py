"""How a node is called in messages: its name, and the user's line when the exporter noted one."""

from __future__ import annotations

import onnx_ir as ir

from compiler.frontend.lower import SOURCE_PROPERTY


def operator_name(node: ir.Node) -> str:
    """`Relu`, or `mncore::ChainerCastReduceSum` outside of the standard domain."""
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


def place_of(node: ir.Node) -> str:
    """`node 'addmm_fx2onnx' (model.py:22)`."""
    source = node.metadata_props.get(SOURCE_PROPERTY, "")
    return f"node '{node.name or ''}'" + (f" ({source})" if source else "")
