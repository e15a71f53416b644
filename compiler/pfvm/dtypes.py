"""ONNX element types and torch dtypes, and ONNX constants as torch tensors."""

from __future__ import annotations

import onnx_ir as ir
import torch

from compiler.pfvm.errors import ModelError

TORCH_DTYPE: dict[ir.DataType, torch.dtype] = {
    ir.DataType.FLOAT: torch.float32,
    ir.DataType.DOUBLE: torch.float64,
    ir.DataType.FLOAT16: torch.float16,
    ir.DataType.BFLOAT16: torch.bfloat16,
    ir.DataType.INT64: torch.int64,
    ir.DataType.INT32: torch.int32,
    ir.DataType.INT16: torch.int16,
    ir.DataType.INT8: torch.int8,
    ir.DataType.UINT8: torch.uint8,
    ir.DataType.BOOL: torch.bool,
}


def torch_dtype(onnx_type: int | ir.DataType) -> torch.dtype:
    """The torch dtype of an ONNX element type (its number or enum).  Raises ModelError for types without one."""
    try:
        return TORCH_DTYPE[ir.DataType(onnx_type)]
    except (KeyError, ValueError):
        known = ", ".join(t.name for t in TORCH_DTYPE)
        raise ModelError(f"element type {ir.DataType(onnx_type)!s} is not supported; supported are {known}") from None


def to_torch(tensor: ir.TensorProtocol) -> torch.Tensor:
    """A copy of an ONNX constant as a CPU tensor of the same shape."""
    dtype = torch_dtype(tensor.dtype)
    array = tensor.numpy()
    if dtype is torch.bfloat16:
        # numpy has no bfloat16; the bits go through int16.
        return torch.from_numpy(array.view("int16").copy()).view(torch.bfloat16).reshape(tuple(array.shape))
    return torch.from_numpy(array.copy()).reshape(tuple(array.shape))
