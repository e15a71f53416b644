"""The exporter's public package: names of tensors, and a check of step functions in `fx2onnx.linter` (mlsdk.md 1).

The exporter itself lives in `compiler.frontend`; `mlsdk.Context.compile` calls it.
"""

from compiler.frontend.tensor_names import get_tensor_name, set_tensor_name

__all__ = ["get_tensor_name", "set_tensor_name"]
