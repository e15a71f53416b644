"""The exporter FX2ONNX: a PyTorch step function -> Exported ONNX.  docs/frontend.md explains the design."""

from compiler.frontend.errors import FrontendError
from compiler.frontend.exporter import Exported, export
from compiler.frontend.roles import PARAMETER, ROLE_KEY
from compiler.frontend.tensor_names import get_tensor_name, set_tensor_name

__all__ = ["PARAMETER", "ROLE_KEY", "Exported", "FrontendError", "export", "get_tensor_name", "set_tensor_name"]
