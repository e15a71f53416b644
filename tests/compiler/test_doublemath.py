"""The NumPy model of double-precision arithmetic agrees with the element-wise model of `hw.formats`, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.layers import doublemath as dm
from hw.formats import elementwise, integer, multiply_add
from hw.formats.descriptor import DOUBLE

U64 = NDArray[np.uint64]
COUNT = 30_000

BOUNDARY = np.array(
    [
        0, 1 << 63, 1, (1 << 63) + 5, 1 << 52, (1 << 52) + 1, 0x3FF0000000000000, 0xBFF0000000000000,
        0x3FEFFFFFFFFFFFFF, 0x3FF0000000000001, 0x3FF000000000FFFF, 0xBFF0000000008000, 0x4250000000004000,
        0x43DFFFFFFFFFFFFF, 0x43E0000000000000, 0xC3E0000000000000, 0x5FF0000000000000, 0x1FF0000000000000,
        0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF0000000000001,
        0x400921FB54442D18,
    ],
    np.uint64,
)  # fmt: skip


def _wide(rng: np.random.Generator, count: int) -> U64:
    """Any patterns, many of them with round mantissas."""
    bits = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    ends = np.array([0, 1, 0xFFFF, 0x10000, (1 << 52) - 1, 1 << 51], np.uint64)
    rough = bits & ~np.uint64((1 << 52) - 1) | rng.choice(ends, count)
    return np.where(rng.random(count) < 0.2, rough, bits)


def _near(rng: np.random.Generator, exponent: NDArray[np.int64]) -> U64:
    """Random mantissas (a third of them round) and signs under given exponent fields (clipped to the finite ones)."""
    mantissa = rng.integers(0, 1 << 52, exponent.size)
    few = rng.integers(0, 1 << 8, exponent.size) << rng.integers(0, 45, exponent.size)
    mantissa = np.where(rng.random(exponent.size) < 0.3, few, mantissa)
    magnitude = np.clip(exponent, 0, 2046) << 52 | mantissa
    return magnitude.astype(np.uint64) | rng.integers(0, 2, exponent.size).astype(np.uint64) << np.uint64(63)


def _triples(rng: np.random.Generator) -> tuple[U64, U64, U64]:
    """Boundary values against each other, any patterns, and addends around the product, also ones that cancel it."""
    grid = [g.ravel() for g in np.meshgrid(BOUNDARY, BOUNDARY, BOUNDARY, indexing="ij")]
    left = COUNT - grid[0].size
    x, y = _wide(rng, left), _wide(rng, left)
    near = rng.random(left) < 0.7
    x = np.where(near, _near(rng, rng.integers(600, 1500, left)), x)
    y = np.where(near, _near(rng, rng.integers(600, 1500, left)), y)
    field = ((x >> np.uint64(52)) & np.uint64(2047)).astype(np.int64)
    field += ((y >> np.uint64(52)) & np.uint64(2047)).astype(np.int64) - 1023
    z = np.where(near, _near(rng, field + rng.integers(-94, 59, left)), _wide(rng, left))
    with np.errstate(all="ignore"):
        opposite = (-(x.view(np.float64) * y.view(np.float64))).view(np.uint64)
    z = np.where(rng.random(left) < 0.2, opposite, z)
    return tuple(np.concatenate(pair) for pair in zip(grid, (x, y, z), strict=True))  # type: ignore[return-value]


def test_multiply_add_with_cancellation_and_far_addends() -> None:
    x, y, z = _triples(np.random.default_rng(1))
    want = [multiply_add.fma(*args, "d", DOUBLE) for args in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    np.testing.assert_array_equal(dm.fma(x, y, z), np.array(want, np.uint64))


def test_addends_at_every_distance_with_ties() -> None:
    """Round products and addends, so that ties and the ends of the adder decide."""
    rng = np.random.default_rng(6)
    distance = np.repeat(np.arange(-96, 62), 120)
    x, y = (_near(rng, np.full(distance.size, 1023)) & ~np.uint64(0x1FFFFFF) for _ in "xy")
    z = _near(rng, 1023 + distance)
    want = [multiply_add.fma(*args, "d", DOUBLE) for args in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    np.testing.assert_array_equal(dm.fma(x, y, z), np.array(want, np.uint64))


def test_sums_and_products_are_cases_of_it() -> None:
    x, _, z = _triples(np.random.default_rng(2))
    one = multiply_add.one("d")
    pairs = list(zip(x.tolist(), z.tolist(), strict=True))
    np.testing.assert_array_equal(dm.add(x, z), np.array([multiply_add.fma(a, one, b, "d", DOUBLE) for a, b in pairs]))
    want = [multiply_add.fma(a, b, 0, "d", DOUBLE) for a, b in pairs]
    np.testing.assert_array_equal(dm.mul(x, z), np.array(want, np.uint64))


def _pairs(seed: int) -> tuple[U64, U64]:
    rng = np.random.default_rng(seed)
    grid = [g.ravel() for g in np.meshgrid(BOUNDARY, BOUNDARY, indexing="ij")]
    x, y = _wide(rng, COUNT), _wide(rng, COUNT)
    y = np.where(rng.random(COUNT) < 0.1, x, np.where(rng.random(COUNT) < 0.1, x + np.uint64(1), y))
    return np.concatenate([grid[0], x]), np.concatenate([grid[1], y])


def test_comparisons_and_choices() -> None:
    x, y = _pairs(3)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    for op, flag, choice in (("max", dm.at_least, dm.maximum), ("min", dm.at_most, dm.minimum)):
        want = [elementwise.apply(op, a, b, DOUBLE) for a, b in pairs]
        np.testing.assert_array_equal(choice(x, y), np.array([w[0] for w in want], np.uint64))
        np.testing.assert_array_equal(flag(x, y), [bool(w[1]) for w in want])
    want_relu = np.array([elementwise.relu(a, b, DOUBLE, 0) for a, b in pairs], np.uint64)
    np.testing.assert_array_equal(dm.relu(x, y), want_relu)


@pytest.mark.parametrize("op, model", [("floor", dm.floor), ("ftoi", dm.to_integer), ("rsqrt", dm.rsqrt)])
def test_unary_operations(op: str, model: Callable[[U64], U64]) -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate([BOUNDARY, _near(rng, rng.integers(1015, 1095, COUNT)), _wide(rng, COUNT // 4)])
    want = np.array([elementwise.apply(op, a, 0, DOUBLE)[0] for a in x.tolist()], np.uint64)
    np.testing.assert_array_equal(model(x), want)


def test_shifts_of_all_counts() -> None:
    x, count = _pairs(5)
    count = np.where(np.arange(count.size) % 4 != 0, count % np.uint64(140), count)
    pairs = list(zip(x.tolist(), count.tolist(), strict=True))
    cases = (("lsl", False, dm.shift_left), ("lsr", True, dm.shift_right), ("lsr", False, dm.shift_right_signed))
    for op, unsigned, model in cases:
        want = np.array([integer.apply(op, a, b, 64, unsigned)[0] for a, b in pairs], np.uint64)
        np.testing.assert_array_equal(model(x, count), want)
