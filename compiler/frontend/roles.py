"""The mark that tells a program's tensors (parameters, buffers, optimizer state) from constants in an ONNX file."""

from __future__ import annotations

ROLE_KEY = "mncore.role"
"""Metadata key in the `value_info` of an initializer."""

PARAMETER = "parameter"
"""Value of ROLE_KEY for a tensor whose contents may change between calls; it must not be folded or shared."""
