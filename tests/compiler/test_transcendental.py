"""Accuracy of the formulas over all single-precision numbers, against double precision; and their special values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.emit.tape import Formula, Tape
from compiler.layers import transcendental as tr
from compiler.layers.tape_eval import evaluate

F32, F64 = NDArray[np.float32], NDArray[np.float64]
COUNT = 60_000
SMALLEST, OVERFLOW = 2.0**-126, 2.0**128
BOUNDARY = np.array(
    [
        0, 0x80000000, 0x7F800000, 0xFF800000, 0x00800000, 0x80800000, 0x00800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000,
        0xBF800000, 0x3F7FFFFF, 0x3F800001, 0x7E800000, 0x7F000000, 0x3F3504F3, 0x3F3504F2, 0x3FB504F3, 0x3FB504F4,
    ],
    np.uint32,
).view(np.float32)  # fmt: skip


def _anything(rng: np.random.Generator) -> F32:
    """Boundary values, all exponents, and numbers around one."""
    bits = rng.integers(0, 2, COUNT) << 31 | rng.integers(1, 255, COUNT) << 23 | rng.integers(0, 1 << 23, COUNT)
    near = rng.uniform(0.3, 3.0, COUNT).astype(np.float32)
    close = np.array(0x3F800000 - 3000, np.uint32) + np.arange(6000, dtype=np.uint32)
    return np.concatenate([BOUNDARY, bits.astype(np.uint32).view(np.float32), near, close.view(np.float32)])


def _compute(formula: Formula, *inputs: F32, **settings: Any) -> F32:
    tape = Tape()
    tape.finish(formula(tape, *[tape.input() for _ in inputs], **settings))
    return evaluate(tape, [np.ascontiguousarray(x).view(np.uint32) for x in inputs]).view(np.float32)


def _worst(got: F32, want: F64, bound: float) -> float:
    """Largest error in ulp of the wanted value; those within `bound` of the range's ends may be 0 or infinite."""
    size = np.abs(want)
    unit = np.exp2(np.floor(np.log2(np.maximum(size, SMALLEST))) - 23)
    error = np.abs(got.astype(np.float64) - want) / unit
    same_sign = np.signbit(got) == np.signbit(want)
    error = np.where((size < SMALLEST * (1 + bound * 2.0**-23)) & (got == 0), 0, error)
    error = np.where((size > OVERFLOW * (1 - (bound + 0.5) * 2.0**-24)) & np.isinf(got) & same_sign, 0, error)
    assert not np.isnan(error).any()
    return float(error.max())


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


CASES: list[tuple[Formula, Callable[[F64], F64], float]] = [
    (tr.reciprocal, lambda x: 1 / x, 2),
    (tr.square_root, lambda x: np.sqrt(np.maximum(x, 0)), 2),
    (tr.reciprocal_root, lambda x: 1 / np.sqrt(np.abs(np.maximum(x, 0))), 2),
    (tr.exponential, np.exp, 2),
    (tr.logarithm, lambda x: np.log(np.abs(np.maximum(x, 0))), 2),
]


@pytest.mark.parametrize("formula, meaning, bound", CASES)
def test_within_two_ulp_over_all_numbers(formula: Formula, meaning: Callable[[F64], F64], bound: float) -> None:
    x = _anything(np.random.default_rng(1))
    assert _worst(_compute(formula, x), meaning(x.astype(np.float64)), bound) <= bound


def test_division_within_two_ulp_also_where_an_operand_is_extreme() -> None:
    rng = np.random.default_rng(2)
    pairs = [g.ravel() for g in np.meshgrid(BOUNDARY, BOUNDARY)]
    x, y = _anything(rng), rng.permutation(_anything(rng))
    alike = (x.astype(np.float64) * np.exp2(rng.uniform(-3, 3, x.size))).astype(np.float32)
    y = np.where((np.arange(x.size) % 3 == 0) & (np.abs(alike) >= SMALLEST), alike, y)
    x, y = np.concatenate([pairs[0], x]), np.concatenate([pairs[1], y]).astype(np.float32)
    want = x.astype(np.float64) / y.astype(np.float64)
    assert _worst(_compute(tr.divide, x, y), np.where(np.isnan(want), 0, want), 2) <= 2


def test_exponential_at_the_ends_of_its_range() -> None:
    x = np.concatenate([np.float32(end) + np.arange(-900, 900, dtype=np.float32) * np.float32(2.0**-17)
                        for end in (88.722839, -87.336545, 88.376, -88.03, 0.34657359)])  # fmt: skip
    x = np.concatenate([x, np.random.default_rng(3).uniform(-104, 90, COUNT).astype(np.float32)])
    got = _compute(tr.exponential, x)
    assert _worst(got, np.exp(x.astype(np.float64)), 2) <= 2
    assert _compute(tr.exponential, np.zeros(1, np.float32)) == 1


def _erf(x: F64) -> F64:
    return np.array([math.erf(v) for v in x])


@pytest.mark.parametrize(
    "formula, meaning",
    [(tr.sigmoid, lambda x: 1 / (1 + np.exp(-x))), (tr.hyperbolic_tangent, np.tanh), (tr.error_function, _erf)],
)
def test_functions_made_of_them_within_three_ulp(formula: Formula, meaning: Callable[[F64], F64]) -> None:
    rng = np.random.default_rng(4)
    around = rng.choice([0.625, 0.9375, 4.0], 2000) * (1 + rng.uniform(-1e-6, 1e-6, 2000))
    x = np.concatenate([_anything(rng), rng.uniform(-95, 95, COUNT), rng.uniform(-5, 5, COUNT), around])
    x = x.astype(np.float32)
    assert _worst(_compute(formula, x), meaning(x.astype(np.float64)), 3) <= 3


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_within_a_part_of_its_argument(approximate: bool) -> None:
    x = np.random.default_rng(5).uniform(-12, 12, COUNT).astype(np.float32)
    d = x.astype(np.float64)
    inner = np.sqrt(2 / np.pi) * (d + 0.044715 * d**3)
    want = 0.5 * d * (1 + (np.tanh(inner) if approximate else _erf(d / np.sqrt(2))))
    got = _compute(tr.gelu_tanh if approximate else tr.gelu, x)
    assert (np.abs(got - want) <= 2.0**-22 * np.abs(d)).all()


def test_softplus_elu_and_silu() -> None:
    x = np.random.default_rng(6).uniform(-80, 80, COUNT).astype(np.float32)
    d = x.astype(np.float64)
    np.testing.assert_allclose(_compute(tr.softplus, x), np.log1p(np.exp(d)), rtol=2.0**-22, atol=2.0**-23)
    np.testing.assert_allclose(_compute(tr.elu, x, alpha=1.5), np.where(d >= 0, d, 1.5 * np.expm1(d)), atol=2.0**-22)
    assert _worst(_compute(tr.silu, x), d / (1 + np.exp(-d)), 4) <= 4


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 7.0, 0.5, -0.5, -1.0, -2.0, 0.0, 1.7])
def test_powers_with_constant_exponents(exponent: float) -> None:
    x = np.random.default_rng(7).uniform(0.01, 20, 5000).astype(np.float32)
    x = np.where(np.arange(x.size) % 2 == 0, -x, x) if exponent in (1, 2, 3, 7, -1, -2) else x
    tape = Tape()
    tape.finish(tr.power(tape, tape.input(), tape.number(np.float32(exponent).item())))
    got = evaluate(tape, [x.view(np.uint32)]).view(np.float32)
    np.testing.assert_allclose(got, x.astype(np.float64) ** np.float32(exponent), rtol=2e-6)


def test_special_values_are_what_the_docstrings_say() -> None:
    inf, zero = np.float32(np.inf), np.float32(0)
    x = np.array([zero, -zero, inf, -inf, -1], np.float32)
    assert _compute(tr.reciprocal, x).tolist() == [inf, -inf, 0, 0, -1]
    assert _compute(tr.square_root, x).tolist() == [0, 0, inf, 0, 0]
    assert _compute(tr.reciprocal_root, x).tolist() == [inf, inf, 0, inf, inf]
    assert _compute(tr.logarithm, x).tolist() == [-inf, -inf, inf, -inf, -inf]
    assert _compute(tr.exponential, x).tolist()[:4] == [1, 1, inf, 0]
    over, under = np.array([0, inf, 3, -3], np.float32), np.array([0, inf, 0, 0], np.float32)
    assert _compute(tr.divide, over, under).tolist() == [0, 0, inf, -inf]
