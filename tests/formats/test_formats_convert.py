"""NumPy conversions and literals against the exact reference."""

from __future__ import annotations

import numpy as np
import pytest

from hw.formats.convert import from_half_bits, round_to_half, to_half_bits
from hw.formats.descriptor import DOUBLE, HALF, SINGLE, FloatFormat
from hw.formats.errors import FormatError, LiteralError
from hw.formats.exact import encode, number
from hw.formats.literal import half_literal, single_literal

EVERY_HALF = np.arange(65536, dtype=np.uint16)


def _patterns(fmt: FloatFormat) -> list[int]:
    """Random patterns around the half range, and every boundary of rounding and range."""
    rng = np.random.default_rng(1)
    out = []
    for _ in range(3000):
        exponent = int(rng.integers(fmt.bias - 34, fmt.bias + 36))
        high = int(rng.integers(0, 512)) << (fmt.mantissa_bits - 9)
        half_unit = 1 << (fmt.mantissa_bits - 10)
        low = int(rng.choice([0, 1, half_unit - 1, half_unit, half_unit + 1, 2 * half_unit - 1]))
        out.append(fmt.join(int(rng.integers(0, 2)), exponent, high | low))
    return [*out, 0, fmt.sign_bit, 1, fmt.join(0, fmt.all_ones, 0), fmt.join(1, fmt.all_ones, 0)]


@pytest.mark.parametrize(
    ("fmt", "unsigned", "real"), [(SINGLE, np.uint32, np.float32), (DOUBLE, np.uint64, np.float64)]
)
def test_to_half_is_one_rounding_by_value(fmt: FloatFormat, unsigned: type, real: type) -> None:
    patterns = _patterns(fmt)
    got = to_half_bits(np.array(patterns, unsigned).view(real))
    assert got.dtype == np.uint16
    assert got.tolist() == [encode(number(pattern, fmt), HALF) for pattern in patterns]


def test_half_round_trip() -> None:
    exponent = (EVERY_HALF >> 9) & 63
    wanted = np.where(exponent == 0, 0, np.where(exponent == 63, EVERY_HALF & 0xFE00, EVERY_HALF))
    assert (to_half_bits(from_half_bits(EVERY_HALF)) == wanted).all()


def test_half_values() -> None:
    assert from_half_bits([0x3E00, 0x4100, 0x7DFF, 0x0200, 0x8000]).tolist() == [1, 3, 2**31 * (2 - 2**-9), 2**-30, 0]
    assert np.isinf(from_half_bits(np.array([0x7E00, 0xFE07]))).all()
    assert np.signbit(from_half_bits(np.uint16(0x8000)))


def test_nan_becomes_infinity_and_shapes_stay() -> None:
    values = np.array([[np.nan, 1e30], [-1e30, 1e-30]], np.float32)
    assert to_half_bits(values).tolist() == [[0x7E00, 0x7E00], [0xFE00, 0]]
    assert round_to_half(np.float32(1 / 3)).shape == ()
    assert to_half_bits(np.arange(12, dtype=np.float32).reshape(3, 4).T).shape == (4, 3)


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(FormatError, match="float16"):
        to_half_bits(np.ones(3, np.float16))


@pytest.mark.parametrize(
    ("text", "single", "half"),
    [
        ("1.0", "3F800000", "3E00"),
        ("-1.", "BF800000", "BE00"),
        (".5", "3F000000", "3C00"),
        ("+3e0", "40400000", "4100"),
        ("0x1p3", "41000000", "4400"),
        ("0X.8P1", "3F800000", "3E00"),
        ("16777217", "4B800000", "6E00"),
        ("1.00000017881393432617187499", "3F800001", "3E00"),
        ("0x1.0000010000000000000001p0", "3F800001", "3E00"),
        ("340282356779733661637539395458142568447", "7F7FFFFF", "7E00"),
        ("340282356779733661637539395458142568448", "7F800000", "7E00"),
        ("1e39", "7F800000", "7E00"),
        ("-1e-1000", "80000000", "8000"),
        ("1e99999999", "7F800000", "7E00"),
        ("inf", "7F800000", "7E00"),
        ("-Infinity", "FF800000", "FE00"),
        ("nan", "7FC00000", "7F00"),
        ("-NaN", "FFC00000", "FF00"),
        ("nan(1)", "7FC00001", "7F00"),
        ("1e-40", "000B6100", "002E"),
        ("-1e-40", "800B6100", "802E"),
        ("3e-45", "00000000", "0000"),
        ("1.1e-38", "006F8F0C", "01BE"),
        ("1.00097656251", "3F802000", "3E00"),
        ("1e10", "501502F9", "7E54"),
        ("1e-12", "2B8CBCCC", "0033"),
        ("-0", "80000000", "8000"),
    ],
)
def test_literal(text: str, single: str, half: str) -> None:
    assert single_literal(text) == int(single, 16)
    assert half_literal(text) == int(half, 16)


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "0x", "0x1p", "1_0", "1f", " 1", "1 ", "--1", "1,5", "0b1"])
def test_bad_literal(text: str) -> None:
    with pytest.raises(LiteralError, match="is no floating-point literal"):
        single_literal(text)


def test_literals_of_normal_singles_are_exact() -> None:
    rng = np.random.default_rng(2)
    for bits in rng.integers(0x00800000, 0x7F800000, 2000, dtype=np.uint32):
        assert single_literal(repr(float(bits.view(np.float32)))) == int(bits)
