"""The exact arithmetic under the reference: rounding and encoding against rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw.formats.descriptor import FLOATS, FloatFormat
from hw.formats.exact import MINUS_INFINITY, PLUS_INFINITY, ZERO, Exact, add, encode, number, rne_shift, round_odd

FORMATS = st.sampled_from(list(FLOATS.values()))


def _value(pattern: int, fmt: FloatFormat) -> Fraction:
    sign, exponent, mantissa = fmt.split(pattern)
    magnitude = (1 + Fraction(mantissa, 1 << fmt.mantissa_bits)) * Fraction(2) ** (exponent - fmt.bias)
    return -magnitude if sign else magnitude


@given(st.integers(0, 1 << 70), st.integers(-5, 80))
def test_rne_shift_is_round_half_even(n: int, shift: int) -> None:
    assert rne_shift(n, shift) == round(Fraction(n) / Fraction(2) ** shift)


@given(FORMATS, st.integers(-(1 << 130), 1 << 130), st.integers(-1200, 1100))
def test_encode_is_the_nearest_even_number_or_a_limit(fmt: FloatFormat, n: int, k: int) -> None:
    exact = Fraction(n) * Fraction(2) ** k
    pattern = encode(Exact(n, k), fmt)
    sign, exponent, mantissa = fmt.split(pattern)
    largest = _value(fmt.join(0, fmt.all_ones - 1, (1 << fmt.mantissa_bits) - 1), fmt)
    smallest = _value(fmt.join(0, 1, 0), fmt)
    if exponent == fmt.all_ones:
        assert mantissa == 0 and sign == (n < 0)
        assert abs(exact) > largest
    elif exponent == 0:
        assert pattern == 0
        assert abs(exact) < smallest
    else:
        error = abs(_value(pattern, fmt) - exact)
        unit = Fraction(2) ** (exponent - fmt.bias - fmt.mantissa_bits)
        assert error <= unit / 2
        if error == unit / 2:
            assert mantissa % 2 == 0


@given(FORMATS, st.data())
def test_numbers_survive_a_round_trip(fmt: FloatFormat, data: st.DataObject) -> None:
    pattern = data.draw(st.integers(0, (1 << fmt.bits) - 1))
    _, exponent, mantissa = fmt.split(pattern)
    again = encode(number(pattern, fmt), fmt)
    if exponent == 0:
        assert again == 0
    elif exponent == fmt.all_ones:
        assert again == pattern - mantissa
    else:
        assert again == pattern


@given(st.integers(-(1 << 80), 1 << 80), st.integers(-50, 50), st.integers(-60, 80))
def test_round_odd_keeps_every_coarser_comparison(n: int, k: int, unit: int) -> None:
    rounded = round_odd(Exact(n, k), unit)
    exact, kept = Fraction(n) * Fraction(2) ** k, Fraction(rounded.n) * Fraction(2) ** rounded.k
    assert abs(exact - kept) < Fraction(2) ** unit
    for even in (2 * (rounded.n // 2), 2 * (rounded.n // 2) + 2):
        bound = Fraction(even) * Fraction(2) ** rounded.k
        assert (exact < bound) == (kept < bound) or rounded.k > unit


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (PLUS_INFINITY, MINUS_INFINITY, PLUS_INFINITY),
        (MINUS_INFINITY, PLUS_INFINITY, PLUS_INFINITY),
        (MINUS_INFINITY, MINUS_INFINITY, MINUS_INFINITY),
        (MINUS_INFINITY, Exact(5, 0), MINUS_INFINITY),
        (ZERO, PLUS_INFINITY, PLUS_INFINITY),
        (Exact(1, 2), Exact(3, 0), Exact(7, 0)),
    ],
)
def test_add(a: Exact, b: Exact, result: Exact) -> None:
    assert add(a, b) == result
