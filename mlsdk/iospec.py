"""`IOSpec`: what a compiled function expects or delivers under one name (mlsdk.md 4)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from runtime.specs import Spec, TensorSpec, torch_dtype


@dataclass(frozen=True)
class IOSpec:
    """Static shape and dtype; on a board also element type, layout and the raw element that fills the padding."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    device_dtype: str | None = None
    layout: str | None = None
    pad_bits: int | None = None

    @classmethod
    def of(cls, spec: Spec) -> IOSpec:
        """From the runtime's description."""
        dtype = torch_dtype(spec.onnx_dtype)
        if isinstance(spec, TensorSpec):
            return cls(spec.name, spec.shape, dtype)
        return cls(spec.name, spec.shape, dtype, spec.dtype.value, str(spec.layout.layout), spec.pad_bits)

    def is_memcopyable_to(self, other: IOSpec) -> bool:
        """True if data of this spec can be used as data of `other` as it is: same shape, dtype, layout and padding."""
        return (self.shape, self.dtype, self.device_dtype, self.layout, self.pad_bits) == (
            other.shape,
            other.dtype,
            other.device_dtype,
            other.layout,
            other.pad_bits,
        )
