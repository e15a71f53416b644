"""`IOSpec`: what the outside must know of an input, output or parameter of a compiled program."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.graph import MNType, MNValue, OnnxType, PadType
from compiler.graph.dtypes import fill_bits
from compiler.layout import PadLayout


@dataclass(frozen=True, slots=True)
class IOSpec:
    """A tensor in DRAM.

    `shape` and `onnx_dtype` are the framework's, `dtype` the element type on the chip, `addr` the first long word
    of the image (the same in all four groups), `pad_bits` the raw element that fills the padding (None:
    there is none, or nobody has defined what it holds).
    """

    name: str
    shape: tuple[int, ...]
    onnx_dtype: OnnxType
    dtype: MNType
    layout: PadLayout
    addr: int
    pad_bits: int | None

    @classmethod
    def of(cls, name: str, value: MNValue) -> IOSpec:
        """The spec of a planned DRAM value, under its name in the model."""
        assert value.layout is not None and value.addr is not None
        undefined = value.pad_type in (None, PadType.DIRTY) or not value.layout.is_padded
        pad = None if undefined else fill_bits(value.pad_type, value.dtype)
        return cls(name, value.shape, value.onnx_dtype, value.dtype, value.layout, value.addr, pad)

    def can_stand_for(self, other: IOSpec) -> bool:
        """Whether an image of this spec is one of `other`; padding may hold anything where `other` leaves it open."""
        alike = (str(self.layout), self.dtype) == (str(other.layout), other.dtype)
        return alike and other.pad_bits in (None, self.pad_bits)
