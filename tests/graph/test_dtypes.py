"""Encoding and decoding of elements, checked against exact rational arithmetic (numerics.md 1.1 and 8)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import onnx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compiler.graph import DtypeError, GraphError, MNType, OnnxType, PadType, decode, encode, fill_bits


def half_by_definition(number: float) -> int:
    """Half bits of a finite number: nearest of the unbounded 1-x-9 grid, ties to even, then the range tests."""
    if number == 0:
        return 0
    magnitude = abs(Fraction(number))
    exponent = math.frexp(number)[1] - 1
    scaled = magnitude / Fraction(2) ** (exponent - 9)  # 512 <= scaled < 1024
    mantissa = round(scaled)  # Python rounds fractions to even
    if mantissa == 1024:
        mantissa, exponent = 512, exponent + 1
    sign = 0x8000 if number < 0 else 0
    if exponent + 31 <= 0:
        return 0
    if exponent + 31 >= 63:
        return sign | 0x7E00
    return sign | (exponent + 31) << 9 | mantissa - 512


def bits(number: float, mntype: MNType = MNType.HALF, dtype: str = "float32") -> int:
    return int(encode(np.array(number, dtype=dtype), mntype))


@pytest.mark.parametrize(
    ("number", "half"),
    [
        (1.0, 0x3E00), (2.0, 0x4000), (0.5, 0x3C00), (-1.0, 0xBE00), (3.0, 0x4100), (5.0, 0x4280), (np.inf, 0x7E00),
        (-np.inf, 0xFE00), (np.nan, 0x7E00), (0.0, 0), (-0.0, 0), (1 / 3, 0x3AAB),
        (2.0**31 * (2 - 2**-9), 0x7DFF), (2.0**32 * (1 - 2**-11), 0x7E00), (2.0**32 * (1 - 2**-11 - 2**-24), 0x7DFF),
        (-(2.0**33), 0xFE00), (2.0**-30, 0x0200), (2.0**-30 * (1 - 2**-11), 0x0200), (-(2.0**-30) * (1 - 2**-10), 0),
        (2.0**-30 * (1 - 2**-11 - 2**-24), 0), (1e-40, 0), (-1e-40, 0), (1 + 2**-10, 0x3E00), (1 + 3 * 2**-10, 0x3E02),
        (np.finfo(np.float32).max, 0x7E00),
    ],
)  # fmt: skip
def test_half_examples(number: float, half: int) -> None:
    assert bits(number) == half
    assert bits(number, dtype="float64") == half


def test_every_half_comes_back() -> None:
    raw = np.arange(1 << 16, dtype=np.uint16)
    values = decode(raw, MNType.HALF)
    assert values.dtype == np.float32
    exponent = raw >> 9 & 63
    assert (values[exponent == 0] == 0).all() and (np.signbit(values) == (raw >= 0x8000)).all()
    assert np.isinf(values[exponent == 63]).all()
    ordinary = (exponent > 0) & (exponent < 63)
    assert (encode(values, MNType.HALF)[ordinary] == raw[ordinary]).all()
    expected = [Fraction(512 + (r & 511)) * Fraction(2) ** ((r >> 9 & 63) - 31 - 9) for r in range(0x200, 0x7E00)]
    assert [Fraction(float(v)) for v in values[0x200:0x7E00]] == expected


def test_all_ties_and_their_neighbours() -> None:
    halves = decode(np.arange(0x0200, 0x7DFF, dtype=np.uint16), MNType.HALF).astype(np.float64)
    above = decode(np.arange(0x0201, 0x7E00, dtype=np.uint16), MNType.HALF).astype(np.float64)
    ties = ((halves + above) / 2).astype(np.float32)
    for numbers in (ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(np.inf))):
        expected = [half_by_definition(float(number)) for number in numbers]
        assert encode(numbers, MNType.HALF).tolist() == expected
        assert encode(numbers.astype(np.float64), MNType.HALF).tolist() == expected


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_half_of_any_single(number: float) -> None:
    assert bits(number) == half_by_definition(number)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.floats(2**-31, 2**33))
@example(1 + 2**-10 + 2**-40)  # rounds up; through float32 it would be a tie and round down
@example(1 + 3 * 2**-10 - 2**-40)
@example(2.0**32 * (1 - 2**-11) - 2**-10)
def test_half_of_any_double_is_rounded_once(number: float) -> None:
    assert bits(number, dtype="float64") == half_by_definition(number)


def test_floats_keep_their_bits() -> None:
    raw = np.array([0x00000042, 0x80000000, 0x7FC00001, 0x3F800000], dtype=np.uint32)
    assert (encode(raw.view(np.float32), MNType.FLOAT) == raw).all()
    assert (encode(raw.astype(np.uint64).view(np.float64), MNType.DOUBLE) == raw).all()
    assert bits(1e300, MNType.FLOAT, "float64") == 0x7F800000
    assert bits(1 / 3, MNType.FLOAT, "float64") == 0x3EAAAAAB


def test_integers() -> None:
    numbers = np.array([[-1, 0], [2**31 - 1, -(2**31)]], dtype=np.int64)
    raw = encode(numbers, MNType.INT)
    assert raw.dtype == np.uint32 and raw.tolist() == [[0xFFFFFFFF, 0], [0x7FFFFFFF, 0x80000000]]
    assert decode(raw, MNType.INT).dtype == np.int32
    assert (decode(raw, MNType.INT, np.int64) == numbers).all()
    assert decode(raw, MNType.INT, np.float32).tolist() == [[-1, 0], [2.0**31, -(2.0**31)]]
    assert encode(np.array([-1], dtype=np.int8), MNType.LONG).tolist() == [2**64 - 1]
    assert encode(np.array([2**64 - 1], dtype=np.uint64), MNType.ULONG).tolist() == [2**64 - 1]
    assert bits(7, MNType.HALF, "int64") == 0x4380
    assert bits(2**40, MNType.FLOAT, "int64") == 0x53800000


@pytest.mark.parametrize(
    ("array", "mntype", "message"),
    [
        (np.array([[0, 1], [2**31, 3]]), MNType.INT, r"element \[1, 0\] = 2147483648 does not fit Int, which holds"),
        (np.array([0, -(2**31) - 1]), MNType.INT, r"element \[1\] = -2147483649 does not fit Int"),
        (np.array(-1), MNType.UINT, r"element \[\] = -1 does not fit UInt, which holds 0..4294967295"),
        (np.array([2**63], dtype=np.uint64), MNType.LONG, "does not fit Long"),
        (np.array([40000]), MNType.SHORT, "does not fit Short"),
        (np.array([1.0]), MNType.INT, "cannot encode float64 as Int: convert to integers first"),
        (np.array([1j]), MNType.FLOAT, "cannot encode complex128 as Float"),
    ],
)  # fmt: skip
def test_what_cannot_be_encoded(array: np.ndarray, mntype: MNType, message: str) -> None:
    with pytest.raises(DtypeError, match=message):
        encode(array, mntype)


def test_what_cannot_be_decoded() -> None:
    with pytest.raises(DtypeError, match="raw Half elements are uint16, got uint32"):
        decode(np.zeros(2, dtype=np.uint32), MNType.HALF)
    with pytest.raises(DtypeError, match="cannot decode Float as int64"):
        decode(np.zeros(2, dtype=np.uint32), MNType.FLOAT, np.int64)
    with pytest.raises(DtypeError, match=r"element \[1\] = 300 does not fit Int as uint8, which holds 0..255"):
        decode(np.array([1, 300], dtype=np.uint32), MNType.INT, np.uint8)
    with pytest.raises(DtypeError, match="cannot decode Int as complex128"):
        decode(np.zeros(2, dtype=np.uint32), MNType.INT, np.complex128)


@pytest.mark.parametrize("mntype", list(MNType))
def test_bool_goes_through_every_type(mntype: MNType) -> None:
    flags = np.array([[True, False, True]])
    raw = encode(flags, mntype)
    assert raw.dtype == mntype.raw_dtype and raw.shape == flags.shape
    assert (decode(raw, mntype).astype(np.float64) == flags).all()
    back = decode(raw, mntype, np.bool_)
    assert back.dtype == np.bool_ and (back == flags).all()


@pytest.mark.parametrize("mntype", list(MNType))
def test_shapes_and_strides_do_not_matter(mntype: MNType) -> None:
    numbers = np.arange(24).reshape(2, 3, 4)
    turned = encode(numbers.transpose(2, 0, 1)[::2], mntype)
    assert (decode(turned, mntype) == numbers.transpose(2, 0, 1)[::2]).all()
    assert encode(np.array(3), mntype).shape == ()
    assert decode(encode(np.zeros((0, 2), dtype=np.int64), mntype), mntype).shape == (0, 2)


@pytest.mark.parametrize(
    ("pad_type", "mntype", "raw"),
    [
        (None, MNType.HALF, 0),
        (PadType.DIRTY, MNType.INT, 0),
        (PadType.ZERO, MNType.DOUBLE, 0),
        (PadType.ONE, MNType.HALF, 0x3E00),
        (PadType.ONE, MNType.LONG, 1),
        (PadType.INF, MNType.HALF, 0x7E00),
        (PadType.NEG_INF, MNType.HALF, 0xFE00),
        (PadType.NEG_INF, MNType.FLOAT, 0xFF800000),
        (PadType.INF, MNType.DOUBLE, 0x7FF0000000000000),
        (PadType.INF, MNType.INT, 0x7FFFFFFF),
        (PadType.NEG_INF, MNType.INT, 0x80000000),
        (PadType.INF, MNType.ULONG, 2**64 - 1),
        (PadType.NEG_INF, MNType.USHORT, 0),
    ],
)
def test_padding_elements(pad_type: PadType | None, mntype: MNType, raw: int) -> None:
    assert fill_bits(pad_type, mntype) == raw


def test_widths() -> None:
    assert [mntype.words_per_lw for mntype in (MNType.HALF, MNType.FLOAT, MNType.INT, MNType.LONG)] == [4, 2, 2, 1]
    assert [mntype.bits for mntype in MNType] == [16, 32, 64, 16, 16, 32, 32, 64, 64]


def test_onnx_numbers() -> None:
    spelled = {"FLOAT32": "FLOAT", "FLOAT64": "DOUBLE"}
    for onnx_type in OnnxType:
        assert onnx_type.code == onnx.TensorProto.DataType.Value(spelled.get(onnx_type.value, onnx_type.value))
        assert OnnxType.from_code(onnx_type.code) is onnx_type
    assert OnnxType.INT64.numpy == np.int64 and OnnxType.BOOL.numpy == np.bool_ and OnnxType.FLOAT32.numpy == np.float32
    with pytest.raises(DtypeError, match="ONNX data type number 8 is not supported"):
        OnnxType.from_code(onnx.TensorProto.STRING)
    with pytest.raises(GraphError, match=r"unknown OnnxType 'FLOAT', .*did you mean"):
        OnnxType("FLOAT")
