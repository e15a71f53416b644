"""Accuracy of the formulas over all double-precision numbers, against extended precision; and their special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.emit.tape import Formula, Tape
from compiler.layers import transcendental as tr
from compiler.layers.tape_eval import evaluate

F64, Wide = NDArray[np.float64], NDArray[np.longdouble]
COUNT = 30_000
SMALLEST = 2.0**-1022
BOUNDARY = np.array(
    [
        0, 1 << 63, 0x7FF0000000000000, 0xFFF0000000000000, 1 << 52, (1 << 63) | (1 << 52), (1 << 52) + 1,
        0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FEFFFFFFFFFFFFF,
        0x3FF0000000000001, 0x7FD0000000000000, 0x7FE0000000000000, 0x3FE6A09E667F3BCD, 0x3FE6A09E667F3BCC,
        0x3FF6A09E667F3BCD, 0x3FF6A09E667F3BCC,
    ],
    np.uint64,
).view(np.float64)  # fmt: skip


def _anything(rng: np.random.Generator) -> F64:
    """Boundary values, all exponents, and numbers around one."""
    bits = rng.integers(1, 2047, COUNT) << 52 | rng.integers(0, 1 << 52, COUNT)
    signed = bits.astype(np.uint64).view(np.float64) * rng.choice([-1.0, 1.0], COUNT)
    close = 1 + np.arange(-3000, 3000) * 2.0**-52
    return np.concatenate([BOUNDARY, signed, rng.uniform(0.3, 3.0, COUNT), close])


def _compute(formula: Formula, *inputs: F64, **settings: Any) -> F64:
    tape = Tape("d")
    tape.finish(formula(tape, *[tape.input() for _ in inputs], **settings))
    return evaluate(tape, [np.ascontiguousarray(x).view(np.uint64) for x in inputs]).view(np.float64)


def _worst(got: F64, want: Wide, bound: float) -> float:
    """Largest error in ulp of the wanted value; those within `bound` of the range's ends may be 0 or infinite."""
    size = np.abs(want)
    finite = np.isfinite(got) & (size < 2 * np.longdouble(2.0**1023) * (1 + 2.0**-48))
    exponent = np.frexp(np.where(finite, np.maximum(size, SMALLEST), 1))[1] - 1
    error = np.abs(np.where(finite, got, 0) - np.where(finite, want, 0)) * np.exp2(52 - exponent.astype(np.longdouble))
    error = np.where((size < SMALLEST * (1 + bound * 2.0**-52)) & (got == 0), 0, error)
    near_end = size > np.longdouble(2.0**1023) * (2 - (bound + 0.5) * 2.0**-52)
    error = np.where(near_end & np.isinf(got) & (np.sign(got) == np.sign(want)), 0, np.where(finite, error, np.inf))
    assert not np.isnan(error).any()
    return float(error.max())


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


CASES: dict[str, tuple[Formula, Callable[[Wide], Wide], float]] = {
    "reciprocal": (tr.reciprocal, lambda x: 1 / x, 2),
    "sqrt": (tr.square_root, lambda x: np.sqrt(np.maximum(x, 0)), 2),
    "rsqrt": (tr.reciprocal_root, lambda x: 1 / np.sqrt(np.abs(np.maximum(x, 0))), 2),
    "exp": (tr.exponential, np.exp, 2),
    "log": (tr.logarithm, lambda x: np.log(np.abs(np.maximum(x, 0))), 2),
    "sigmoid": (tr.sigmoid, lambda x: 1 / (1 + np.exp(-x)), 3),
    "tanh": (tr.hyperbolic_tangent, np.tanh, 3),
    "silu": (tr.silu, lambda x: x / (1 + np.exp(-x)), 4),
}


@pytest.mark.parametrize("name", CASES)
def test_within_a_few_ulp_over_all_numbers(name: str) -> None:
    formula, meaning, bound = CASES[name]
    rng = np.random.default_rng(1)
    ends = np.array([709.782712893384, -708.3964185322641, 709.09, 0.625, 0.34657359])
    around = (ends[:, None] * (1 + np.arange(-300, 300) * 2.0**-52)).ravel()
    x = np.concatenate([_anything(rng), rng.uniform(-750, 720, COUNT), rng.uniform(-5, 5, COUNT), around])
    x = x[np.abs(x) < 700] if name == "silu" else x  # below -708 its factor is zero already
    got = _compute(formula, x)
    assert _worst(got, meaning(x.astype(np.longdouble)), bound) <= bound


def test_division_within_two_ulp_also_where_an_operand_is_extreme() -> None:
    rng = np.random.default_rng(2)
    pairs = [g.ravel() for g in np.meshgrid(BOUNDARY, BOUNDARY)]
    x, y = _anything(rng), rng.permutation(_anything(rng))
    alike = x * np.exp2(rng.uniform(-3, 3, x.size))
    y = np.where((np.arange(x.size) % 3 == 0) & (np.abs(alike) >= SMALLEST), alike, y)
    x, y = np.concatenate([pairs[0], x]), np.concatenate([pairs[1], y])
    want = x.astype(np.longdouble) / y.astype(np.longdouble)
    assert _worst(_compute(tr.divide, x, y), np.where(np.isnan(want), 0, want), 2) <= 2


def test_softplus_elu_and_powers() -> None:
    x = np.random.default_rng(6).uniform(-80, 80, COUNT)
    d = x.astype(np.longdouble)
    want = np.log1p(np.exp(d)).astype(float)
    np.testing.assert_allclose(_compute(tr.softplus, x), want, rtol=2.0**-51, atol=2.0**-52)
    want = np.where(d >= 0, d, 1.5 * np.expm1(d)).astype(float)
    np.testing.assert_allclose(_compute(tr.elu, x, alpha=1.5), want, atol=2.0**-51, rtol=0)
    size = np.abs(x) + 0.01
    for exponent in (2.0, 7.0, 0.5, -0.5, -2.0, 1.7):
        tape = Tape("d")
        tape.finish(tr.power(tape, tape.input(), tape.number(exponent)))
        got = evaluate(tape, [size.view(np.uint64)]).view(np.float64)
        want = (size.astype(np.longdouble) ** np.longdouble(exponent)).astype(float)
        np.testing.assert_allclose(got, want, rtol=8 * 2.0**-52)
