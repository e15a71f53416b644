"""Immediate literals: exact bits and refusals (isa.md 2.4, numerics.md 10)."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.errors import AsmError
from isa.literals import long_words, parse_literal, single_bits


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ('f"1.0"', 0x3F800000),
        ('f"-0.6931"', 0xBF316F00),
        ('f"1e-40"', 0x000B6100),
        ('f"1e-45"', 0),
        ('f"-0"', 0x80000000),
        ('f"1e39"', 0x7F800000),
        ('f"3.4028235677973367e38"', 0x7F800000),
        ('f"0x1.000001p0"', 0x3F800000),
        ('f"0x1p-126"', 0x00800000),
        ('f"inf"', 0x7F800000),
        ('f"-INFINITY"', 0xFF800000),
        ('f"nan"', 0x7FC00000),
        ('f"-nan(123)"', 0xFFC0007B),
        ('f"1e-99999999999"', 0),
        ('h"2.0"', 0x40004000),
        ('h"1.00097656251"', 0x3E003E00),
        ('h"1e10"', 0x7E547E54),
        ('h"1e-12"', 0x00330033),
        ('h"inf"', 0x7E007E00),
        ('i"12345"', 12345),
        ('i"-1"', 0xFFFFFFFF),
        ('i"+5"', 5),
        ('i"-0x80000000"', 0x80000000),
        ('i"0b1100"', 12),
        ('i"0o17"', 15),
        ('ui"0xFFFFFFFF"', 0xFFFFFFFF),
        ('s"-1"', 0xFFFFFFFF),
        ('s"0b0100000111111000"', 0x41F841F8),
        ('us"0x8000"', 0x80008000),
    ],
)
def test_bits(text: str, bits: int) -> None:
    assert parse_literal(text).bits == bits


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('i"0x80000000"', "literal/range"),
        ('ui"4294967296"', "literal/range"),
        ('s"0x8000"', "literal/range"),
        ('us"65536"', "literal/range"),
        ('us"-1"', "literal/text"),
        ('ui"+5"', "literal/text"),
        ('i"010"', "literal/text"),
        ('i"0X10"', "literal/text"),
        ('i"1.5"', "literal/text"),
        ('i""', "literal/text"),
        ('f""', "literal/text"),
        ('f"1.0f"', "literal/text"),
        ('f"0x1p"', "literal/text"),
        ('f" 1"', "literal/text"),
        ('u"5"', "literal/type"),
        ('d"1.0"', "literal/type"),
        ('"5"', "literal/type"),
        ("f1.0", "literal/quotes"),
        ("i'1'", "literal/quotes"),
    ],
)
def test_refusals(text: str, rule: str) -> None:
    with pytest.raises(AsmError) as caught:
        parse_literal(text)
    assert caught.value.rule == rule
    assert caught.value.expected


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False))
def test_every_normal_single_is_reached_by_its_shortest_text(value: float) -> None:
    (bits,) = struct.unpack(">I", struct.pack(">f", value))
    assert single_bits(repr(value)) == bits
    assert single_bits(value.hex()) == bits


@given(st.floats(min_value=1e-30, max_value=1e30))
def test_rounding_to_single_is_the_nearest(value: float) -> None:
    assert single_bits(repr(value)) == int(np.float32(value).view(np.uint32))


def test_long_words() -> None:
    assert long_words(0x3F800000, upper=False) == (0x3F8000003F800000,) * 2
    assert long_words(0x3FE00000, upper=True) == (0x3FE0000000000000,) * 2
