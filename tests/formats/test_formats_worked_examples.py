"""Worked examples and tables of numerics.md, judged on the slow reference."""

from __future__ import annotations

import pytest

from hw.formats import blockfloat, elementwise, integer, multiply_add, precision, reduction
from hw.formats.descriptor import DOUBLE, FLOATS, HALF, SINGLE
from hw.formats.errors import MixedBlockError


def _hex(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(
    ("x", "y", "z", "result"),
    [
        ("3F800000", "3F800000", "00000000", "3F800000"),
        ("40A00000", "41100000", "00000000", "42340000"),
        ("40A00000", "41100000", "3F800000", "42380000"),
        ("49800008", "49800008", "D3800000", "4A000010"),
        ("3F800001", "3F800001", "BF800000", "34800080"),
        ("3F80001F", "3F80001F", "BF800000", "36F80008"),
        ("3F800010", "3F800010", "BF800020", "2C800000"),
        ("FF800000", "80000000", "00000000", "00000000"),
        ("7F800000", "7F800000", "FF800000", "7F800000"),
        ("00000000", "7F800000", "FF800000", "FF800000"),
        ("7F7FC99E", "40000000", "00000000", "7F800000"),
        ("0DA24260", "0DA24260", "00000000", "00000000"),
    ],
)
def test_single_fma(x: str, y: str, z: str, result: str) -> None:
    assert multiply_add.fma(int(x, 16), int(y, 16), int(z, 16), "f", SINGLE) == int(result, 16)


def test_single_addend_below_the_adder_stays_at_the_tie() -> None:
    x, z = 0x3F800800, SINGLE.join(0, 127 - 43, 0)
    assert multiply_add.fma(x, x, z, "f", SINGLE) == multiply_add.fma(x, x, 0, "f", SINGLE)


def test_dropped_product_next_to_a_power_of_two() -> None:
    """1.0 - 3.5 * 2**-26: the product is 26 binades below 1.0 and counts as 0 (numerics.md 3.5)."""
    factor = SINGLE.join(1, 127 - 13, 0x700000)
    other = SINGLE.join(0, 127 - 13, 0x700000)
    assert multiply_add.fma(factor, other, 0x3F800000, "f", SINGLE) == 0x3F800000


@pytest.mark.parametrize(
    ("x", "y", "z", "result"),
    [("4250000000004000", "4250000000004000", "C4B0000000000000", "4260000000008000")],
)
def test_double_fma(x: str, y: str, z: str, result: str) -> None:
    assert multiply_add.fma(int(x, 16), int(y, 16), int(z, 16), "d", DOUBLE) == int(result, 16)


@pytest.mark.parametrize(
    ("x", "y", "z", "result"),
    [
        ("3E00", "3E00", "00000000", "3E00"),
        ("4280", "4440", "00000000", "48D0"),
        ("4440", "4620", "00000000", "4C64"),
        ("4540", "4720", "00000000", "4E8A"),
        ("3E00", "3E00", "3F800000", "4000"),
        ("4280", "4440", "3F800000", "48E0"),
        ("4440", "4620", "3F800000", "4C68"),
        ("4540", "4720", "3F800000", "4E8C"),
        ("400E", "4180", "33058F94", "4399"),
    ],
)
def test_half_fma_rounded_to_half(x: str, y: str, z: str, result: str) -> None:
    assert multiply_add.fma(int(x, 16), int(y, 16), int(z, 16), "h", HALF) == int(result, 16)


def test_vpassa_flushes() -> None:
    one = multiply_add.one("f")
    assert [multiply_add.fma(x, one, 0, "f", SINGLE) for x in _hex("00000042 80000000")] == [0, 0]


@pytest.mark.parametrize(
    ("inputs", "result"),
    [
        ("3F800000 33800000 33800000 33800000", "3F800002"),
        ("3F800001 33900000 33900000 33900000", "3F800002"),
        ("4B800000 3F800000 3F800000 3F800000", "4B800002"),
        ("3F800000 BF800000 33800000 00000000", "33800000"),
        ("3F800000 31800000 31800000 31800000", "3F800000"),
        ("7F800000 FF800000 00000000 00000000", "7F800000"),
        ("FF800000 FF800000 3F800000 00000000", "FF800000"),
        ("80000000 80000000 00000000 807FFFFF", "00000000"),
    ],
)
def test_reduction_sum(inputs: str, result: str) -> None:
    assert reduction.fadd(_hex(inputs), SINGLE, SINGLE) == int(result, 16)


def test_reduction_order_of_zeros_and_odd_patterns() -> None:
    assert reduction.select(_hex("80000000 00000000"), 32, largest=True) == 0
    assert reduction.select(_hex("80000000 00000000"), 32, largest=False) == 0x80000000
    assert reduction.select(_hex("FFFFFFFF FF800000"), 32, largest=True) == 0xFF800000
    assert reduction.integer("and", [5, 6], 16) == 1
    assert reduction.integer("or", [0, 0], 16) == 0
    with pytest.raises(ValueError, match="expected iadd"):
        reduction.integer("nand", [1], 16)


HALF_BLOCK = "3E00 4000 3C00 BE00 0 0 0 0 3A00 C000 4100 3F00 3800 3F80 BC00 3E80"


@pytest.mark.parametrize(
    ("prec", "length", "inputs", "outputs"),
    [
        (
            "d",
            0,
            "8000000000000000 0 4000000000000000 BFF0000000000000",
            "C000000000000000 4000000000000000 4008000000000000 C004000000000000",
        ),
        (
            "d",
            0,
            "3FFFFFFFFFFFFFFF 3FF0000000000000 3FE0000000000000 BFF8000000000000",
            "4008000000000000 4004000000000000 4002000000000000 C006000000000000",
        ),
        (
            "g",
            0,
            "3F800000 BF000000 3E800000 40400000 0 3A83126F C0000000 3FC00000",
            "40200000 C0100000 40080000 40600000 40000000 40000840 C0400000 40300000",
        ),
        ("h", 9, HALF_BLOCK, "4080 4100 4040 C080 4000 4000 4000 4000 4020 C100 4180 40C0 4010 40E0 C040 40A0"),
        ("h", 6, HALF_BLOCK, "4610 4620 4608 C610 4600 4600 4600 4600 4604 C620 4630 4618 4602 461C C608 4614"),
    ],
)
def test_block_float(prec: str, length: int, inputs: str, outputs: str) -> None:
    assert blockfloat.convert(_hex(inputs), prec, length) == _hex(outputs)


def test_block_float_of_zeros_and_of_infinity() -> None:
    assert blockfloat.convert([0x80000000, 0, 0, 0x7FFFFF], "f", 0) == [0x80000000, 0, 0, 0]
    assert blockfloat.convert([0x3F800000, 0xFF800001, 0, 0], "f", 0) == _hex("7F800000 FF800000 7F800000 7F800000")


def test_double_matrix_of_the_tutorial() -> None:
    def doubles(*values: float) -> list[int]:
        table = {0: 0x0, 1: 0x3FF, 2: 0x400, 3: 0x4008, 4: 0x401}
        return [
            (1 << 63 if value < 0 or str(value) == "-0.0" else 0)
            | (table[abs(int(value))] << (48 if abs(int(value)) == 3 else 52))
            for value in values
        ]

    a = [doubles(-0.0, 0, 2, -1), doubles(0, 4, -1, -4), doubles(-1, 1, -1, -1), doubles(-1, -1, 1, -1)]
    b = [doubles(-0.0, 1, -1, -4), doubles(1, -1, 3, 1), doubles(1, 1, 1, -3), doubles(-1, 1, 1, -1)]
    wanted = [[2, 21, 6, 2], [5, -11, -6, 2], [5, 15, 2, 2], [3, 7, 2, 2]]
    rows = [blockfloat.convert(row, "d", 0) for row in a]
    for vector, results in zip(b, wanted, strict=True):
        x = blockfloat.convert(vector, "d", 0)
        for row, result in zip(rows, results, strict=True):
            bits = multiply_add.matrix_row(row, x, 0, "d", DOUBLE)
            sign, exponent, mantissa = DOUBLE.split(bits)
            assert (-1) ** sign * (1 + mantissa / 2**52) * 2.0 ** (exponent - 1023) == result


def test_matrix_infinities() -> None:
    infinite, one, zero = [0xFF800001] * 4, [0x3F800001] * 4, [0x00000005] * 4
    assert multiply_add.matrix_row(infinite, one, 0xFF800000, "f", SINGLE) == 0x7F800000
    assert multiply_add.matrix_row(infinite, zero, 0, "f", SINGLE) == 0
    assert multiply_add.matrix_row(one, zero, 0x40000000, "f", SINGLE) == 0x40000000
    assert multiply_add.matrix_row(one, one, 0xFF800000, "f", SINGLE) == 0xFF800000


@pytest.mark.parametrize(
    ("a", "x", "result"),
    [
        (54, 328, 276),
        (109, 133, 226),
        (48, 1, 0),
        (40, 1, 1),
        (112, 1, 2),
        (11, 3, 0),
        (7, 5, 1),
        (3, 15, 0),
        (6, 7, 1),
    ],
)
def test_products_of_one_extended_element(a: int, x: int, result: int) -> None:
    """Pairs of numerics.md 6.3 and further ones observed on the vendor's emulator."""
    assert multiply_add.shifted_half_product(a, x, 6) == result
    assert multiply_add.shifted_half_product(x, a, 6) == result


def test_mixed_block_names_the_element() -> None:
    with pytest.raises(MixedBlockError, match="element 2 of a block has exponent field 129"):
        multiply_add.matrix_row([0x3F800000, 0x3F800000, 0x40800000, 0x3F800000], [0] * 4, 0, "f", SINGLE)


@pytest.mark.parametrize(
    ("x", "result"),
    [
        ("3FD851EC", "3F440000"),
        ("40D851EC", "3EC40000"),
        ("3F800000", "3F7C0000"),
        ("0", "5F340000"),
        ("7F800000", "1F7C0000"),
    ],
)
def test_rsqrt(x: str, result: str) -> None:
    assert elementwise.rsqrt(int(x, 16), SINGLE) == int(result, 16)


def test_relu_floor_ftoi() -> None:
    five, minus_one = 0x40A00000, 0xBF800000
    assert elementwise.apply("relu", minus_one, five, SINGLE) == (0x80000000, 0)
    assert elementwise.apply("relu", 0x3F800000, five, SINGLE) == (five, 1)
    assert [elementwise.floor(x, SINGLE) for x in _hex("40700000 C0500000")] == _hex("40400000 C0800000")
    assert elementwise.floor(0x80000001, SINGLE) == 0x80000001
    assert [elementwise.ftoi(x, SINGLE, unsigned=False) for x in _hex("C0700000 40700000")] == [0xFFFFFFFD, 3]
    assert [elementwise.ftoi(x, SINGLE, unsigned=True) for x in _hex("C0700000 40700000")] == [3, 3]
    assert elementwise.ftoi(0xFF800000, SINGLE, unsigned=False) == 0x80000000


def test_leaky_family() -> None:
    y = 0x40A00000
    assert elementwise.leaky("lrelud", 0x80000000, y, SINGLE) == y - (1 << 23)
    assert elementwise.leaky("lreluo", 0x80000000, y, SINGLE) == y - (3 << 23)
    assert elementwise.leaky("lreluo", 0x80000000, 0x01800000, SINGLE) == 0x80000000
    assert elementwise.leaky("ilrelud", 0x80000000, 0x00000007, SINGLE) == 0x00800007
    assert elementwise.leaky("ilrelud", 0, y, SINGLE) == y


@pytest.mark.parametrize(
    ("single", "half"),
    [("D8C1C519", "FF07"), ("7F9D0569", "7E74"), ("807FC000", "81FF"), ("2FFFE000", "0000"), ("3F802000", "3E00")],
)
def test_raw_narrowing(single: str, half: str) -> None:
    assert precision.raw_narrow(int(single, 16)) == int(half, 16)


@pytest.mark.parametrize(
    ("single", "half"),
    [("4F7FE000", "7E00"), ("3F802000", "3E00"), ("3F806000", "3E02"), ("3EAAAAAB", "3AAB"), ("B07FBFFF", "0000")],
)
def test_value_narrowing(single: str, half: str) -> None:
    assert multiply_add.fma(int(single, 16), multiply_add.one("f"), 0, "f", HALF) == int(half, 16)


def test_widening_rules() -> None:
    assert precision.raw_widen(0x0001, HALF, SINGLE) == 0x00004000
    assert precision.raw_widen(0x7E01, HALF, SINGLE) == 0x7F804000
    assert precision.value_widen(0x80001FFF, SINGLE, DOUBLE, keep_zero_sign=True) == 0x8000000000000000
    assert precision.value_widen(0x80001FFF, SINGLE, DOUBLE) == 0
    assert precision.value_widen(0x7F800001, SINGLE, DOUBLE) == 0x7FF0000000000000


@pytest.mark.parametrize("letter", FLOATS)
def test_split_and_join_are_inverse(letter: str) -> None:
    fmt = FLOATS[letter]
    for pattern in (0, 1, fmt.sign_bit, (1 << fmt.bits) - 1, fmt.join(1, fmt.bias, 3)):
        assert fmt.join(*fmt.split(pattern)) == pattern


def test_integer_shifts_beyond_the_width() -> None:
    assert integer.apply("lsr", 0x80000000, 32, 32, False) == (0xFFFFFFFF, 0)
    assert integer.apply("lsr", 0x80000000, 32, 32, True) == (0, 1)
    assert integer.apply("lsl", 1, 64, 32, False) == (1, 0)
    assert integer.apply("bsl", 0x1234, 8, 16, False) == (0x3412, 0)
    with pytest.raises(ValueError, match="unknown integer operation 'nor'"):
        integer.apply("nor", 1, 1, 16, False)
