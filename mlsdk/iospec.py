"""`IOSpec`: what a compiled function expects or delivers under one name (mlsdk.md 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from mlsdk.errors import CompileError
from runtime.specs import Spec, TensorSpec, torch_dtype

if TYPE_CHECKING:
    from compiler.plan.ends import Form


@dataclass(frozen=True)
class IOSpec:
    """Static shape and dtype; on a board also element type, layout and the raw element that fills the padding
    (None: there is none, or it is undefined).
    """

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
        """True if data of this spec can be used as data of `other` as it is: same shape, dtype, layout and padding.

        Where `other` leaves its padding undefined, any will do.
        """
        own, wanted = ((s.shape, s.dtype, s.device_dtype, s.layout) for s in (self, other))
        return own == wanted and other.pad_bits in (None, self.pad_bits)


def form_of(name: str, spec: IOSpec) -> Form:
    """The form in DRAM that a spec prescribes for `name`.  Raises CompileError for a spec of a pfvm device."""
    from compiler.graph import MNType
    from compiler.layout import Layout, PadLayout
    from compiler.plan.ends import Form

    if spec.layout is None or spec.device_dtype is None:
        raise CompileError(
            f"io_spec_constraints: the spec for {name!r} has no layout; it is of a function for a pfvm device"
        )
    return Form(PadLayout(spec.shape, Layout.parse(spec.layout)), MNType(spec.device_dtype), spec.pad_bits)
