"""Element types: `MNType` on the device, `OnnxType` in the model.

Source: compiler.md 4 and R3 (spellings, words per long word), numerics.md 1.1 (formats), isa.md 16.2 (integer types).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.graph.errors import DtypeError, Spelled


class MNType(Spelled):
    """Element type on the device; the value is its spelling in l3ir.txt."""

    HALF = "Half"
    FLOAT = "Float"
    DOUBLE = "Double"
    SHORT = "Short"
    USHORT = "UShort"
    INT = "Int"
    UINT = "UInt"
    LONG = "Long"
    ULONG = "ULong"

    @property
    def bits(self) -> int:
        """Width of an element: 16, 32 or 64."""
        return _BITS[self]

    @property
    def words_per_lw(self) -> int:
        """Elements in a long word: 4, 2 or 1 (R3)."""
        return 64 // self.bits

    @property
    def is_float(self) -> bool:
        """True for Half, Float and Double."""
        return self in (MNType.HALF, MNType.FLOAT, MNType.DOUBLE)

    @property
    def raw_dtype(self) -> np.dtype[Any]:
        """NumPy type that carries the bits of elements: uint16, uint32 or uint64."""
        return np.dtype(f"uint{self.bits}")

    @property
    def host_dtype(self) -> np.dtype[Any]:
        """Smallest NumPy type that holds every value: float32 for Half and Float, float64, or the integer itself."""
        return np.dtype(_HOST[self])


_BITS = {
    MNType.HALF: 16,
    MNType.FLOAT: 32,
    MNType.DOUBLE: 64,
    MNType.SHORT: 16,
    MNType.USHORT: 16,
    MNType.INT: 32,
    MNType.UINT: 32,
    MNType.LONG: 64,
    MNType.ULONG: 64,
}

_HOST = {
    MNType.HALF: "float32",
    MNType.FLOAT: "float32",
    MNType.DOUBLE: "float64",
    MNType.SHORT: "int16",
    MNType.USHORT: "uint16",
    MNType.INT: "int32",
    MNType.UINT: "uint32",
    MNType.LONG: "int64",
    MNType.ULONG: "uint64",
}


class OnnxType(Spelled):
    """Element type in the ONNX model; the value is its spelling in l3ir.txt (`FLOAT32` where ONNX says FLOAT)."""

    FLOAT16 = "FLOAT16"
    BFLOAT16 = "BFLOAT16"
    FLOAT32 = "FLOAT32"
    FLOAT64 = "FLOAT64"
    INT8 = "INT8"
    INT16 = "INT16"
    INT32 = "INT32"
    INT64 = "INT64"
    UINT8 = "UINT8"
    UINT16 = "UINT16"
    UINT32 = "UINT32"
    UINT64 = "UINT64"
    BOOL = "BOOL"

    @classmethod
    def from_code(cls, code: int) -> OnnxType:
        """The type with the number `code` of onnx.TensorProto.DataType; DtypeError for types not supported."""
        for member, number in _CODES.items():
            if number == code:
                return member
        raise DtypeError(f"ONNX data type number {code} is not supported, only {sorted(_CODES.values())}")

    @property
    def code(self) -> int:
        """Number in onnx.TensorProto.DataType."""
        return _CODES[self]

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy type of host arrays; BFLOAT16, which NumPy lacks, is held as float32."""
        return np.dtype("float32" if self is OnnxType.BFLOAT16 else self.value.lower())


_CODES = {
    OnnxType.FLOAT32: 1,
    OnnxType.UINT8: 2,
    OnnxType.INT8: 3,
    OnnxType.UINT16: 4,
    OnnxType.INT16: 5,
    OnnxType.INT32: 6,
    OnnxType.INT64: 7,
    OnnxType.BOOL: 9,
    OnnxType.FLOAT16: 10,
    OnnxType.FLOAT64: 11,
    OnnxType.UINT32: 12,
    OnnxType.UINT64: 13,
    OnnxType.BFLOAT16: 16,
}
