"""Descriptions of a program's tensors: `TensorSpec` for pfvm devices, the compiler's `IOSpec` for boards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from compiler.graph.mntype import MNType, OnnxType
from compiler.iospec import IOSpec
from compiler.layout import Layout, PadLayout
from runtime.errors import DTypeMismatchError

if TYPE_CHECKING:
    import torch

_TORCH = {
    OnnxType.FLOAT16: "float16",
    OnnxType.BFLOAT16: "bfloat16",
    OnnxType.FLOAT32: "float32",
    OnnxType.FLOAT64: "float64",
    OnnxType.INT8: "int8",
    OnnxType.INT16: "int16",
    OnnxType.INT32: "int32",
    OnnxType.INT64: "int64",
    OnnxType.UINT8: "uint8",
    OnnxType.UINT16: "uint16",
    OnnxType.UINT32: "uint32",
    OnnxType.UINT64: "uint64",
    OnnxType.BOOL: "bool",
}
_ONNX = {name: onnx for onnx, name in _TORCH.items()}


def torch_dtype(element: OnnxType) -> torch.dtype:
    """The torch dtype of an ONNX element type."""
    import torch

    dtype: torch.dtype = getattr(torch, _TORCH[element])
    return dtype


def onnx_dtype(dtype: torch.dtype) -> OnnxType:
    """The ONNX element type of a torch dtype.  Raises DTypeMismatchError for one that no device knows."""
    name = str(dtype).removeprefix("torch.")
    if name not in _ONNX:
        raise DTypeMismatchError(f"dtype {dtype} cannot be sent to a device; known are {', '.join(_ONNX)}")
    return _ONNX[name]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Name, static shape and ONNX element type of an input, output or parameter of a program without layouts."""

    name: str
    shape: tuple[int, ...]
    onnx_dtype: OnnxType


Spec: TypeAlias = TensorSpec | IOSpec

# What decides the bits of a DRAM image besides the values: images of equal form can be copied as they are.
Form: TypeAlias = tuple[str, MNType, int | None]


def form_of(spec: IOSpec) -> Form:
    """The form of a tensor's DRAM image."""
    return str(spec.layout), spec.dtype, spec.pad_bits


def spec_to_json(spec: Spec) -> dict[str, Any]:
    """A spec as plain data; `spec_from_json` reads it back."""
    data = {"name": spec.name, "shape": list(spec.shape), "onnx_dtype": spec.onnx_dtype.value}
    if isinstance(spec, TensorSpec):
        return data
    place = {"dtype": spec.dtype.value, "layout": str(spec.layout.layout), "addr": spec.addr, "pad_bits": spec.pad_bits}
    return data | place


def spec_from_json(data: Mapping[str, Any]) -> Spec:
    """The TensorSpec, or the IOSpec if there is a layout.  Raises KeyError or ValueError for malformed data."""
    name, shape, element = str(data["name"]), tuple(int(n) for n in data["shape"]), OnnxType(data["onnx_dtype"])
    if "layout" not in data:
        return TensorSpec(name, shape, element)
    layout = PadLayout(shape, Layout.parse(data["layout"]))
    pad = None if data["pad_bits"] is None else int(data["pad_bits"])
    return IOSpec(name, shape, element, MNType(data["dtype"]), layout, int(data["addr"]), pad)
