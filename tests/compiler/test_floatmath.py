"""The NumPy model of single-precision arithmetic agrees with the element-wise model of `hw.formats`, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.layers import floatmath as fm
from hw.formats import elementwise, integer, multiply_add
from hw.formats.descriptor import SINGLE

U32 = NDArray[np.uint32]
COUNT = 100_000

BOUNDARY = np.array(
    [
        0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x80800000, 0x00800001, 0x3F800000, 0xBF800000, 0x3F7FFFFF,
        0x3F800001, 0x3F80001F, 0x3F800010, 0x49800008, 0x4B000000, 0x4B7FFFFF, 0x4EFFFFFF, 0x4F000000, 0xCF000000,
        0x4F800000, 0x5F000000, 0x1F800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0x40490FDB,
    ],
    np.uint32,
)  # fmt: skip


def _wide(rng: np.random.Generator, count: int) -> U32:
    """Any patterns, many of them with round mantissas."""
    bits = rng.integers(0, 1 << 32, count, dtype=np.uint64)
    round_ = rng.choice(np.array([0, 1, 31, 32, 0x7FFFFF, 0x400000], np.uint64), count)
    rough = bits & ~np.uint64((1 << 23) - 1) | round_
    return np.where(rng.random(count) < 0.2, rough, bits).astype(np.uint32)


def _near(rng: np.random.Generator, exponent: NDArray[np.int64]) -> U32:
    """Random mantissas and signs under given exponent fields (clipped to the finite ones)."""
    count = exponent.size
    bits = rng.integers(0, 2, count) << 31 | np.clip(exponent, 0, 254) << 23 | rng.integers(0, 1 << 23, count)
    return bits.astype(np.uint32)


def _triples(rng: np.random.Generator) -> tuple[U32, U32, U32]:
    """Boundary values against each other, any patterns, and addends around the product, also ones that cancel it."""
    grid = [g.ravel() for g in np.meshgrid(BOUNDARY, BOUNDARY, BOUNDARY, indexing="ij")]
    left = COUNT - grid[0].size
    x, y = _wide(rng, left), _wide(rng, left)
    near = rng.random(left) < 0.7
    x = np.where(near, _near(rng, rng.integers(64, 190, left)), x)
    y = np.where(near, _near(rng, rng.integers(64, 190, left)), y)
    field = ((x >> 23) & 255).astype(np.int64) + ((y >> 23) & 255) - 127
    z = np.where(near, _near(rng, field + rng.integers(-47, 30, left)), _wide(rng, left))
    with np.errstate(all="ignore"):
        opposite = (-(x.view(np.float32) * y.view(np.float32))).view(np.uint32)
    z = np.where(rng.random(left) < 0.2, opposite, z)
    return tuple(np.concatenate(pair) for pair in zip(grid, (x, y, z), strict=True))  # type: ignore[return-value]


def test_multiply_add_with_cancellation_and_far_addends() -> None:
    x, y, z = _triples(np.random.default_rng(1))
    want = [multiply_add.fma(*args, "f", SINGLE) for args in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    np.testing.assert_array_equal(fm.fma(x, y, z), np.array(want, np.uint32))


def test_sums_and_products_are_cases_of_it() -> None:
    x, _, z = _triples(np.random.default_rng(2))
    one = multiply_add.one("f")
    pairs = list(zip(x.tolist(), z.tolist(), strict=True))
    np.testing.assert_array_equal(fm.add(x, z), [multiply_add.fma(a, one, b, "f", SINGLE) for a, b in pairs])
    np.testing.assert_array_equal(fm.mul(x, z), [multiply_add.fma(a, b, 0, "f", SINGLE) for a, b in pairs])


def _pairs(seed: int) -> tuple[U32, U32]:
    rng = np.random.default_rng(seed)
    grid = [g.ravel() for g in np.meshgrid(BOUNDARY, BOUNDARY, indexing="ij")]
    x, y = _wide(rng, COUNT), _wide(rng, COUNT)
    y = np.where(rng.random(COUNT) < 0.1, x, np.where(rng.random(COUNT) < 0.1, x + np.uint32(1), y))
    return np.concatenate([grid[0], x]), np.concatenate([grid[1], y]).astype(np.uint32)


def test_comparisons_and_choices() -> None:
    x, y = _pairs(3)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    for op, flag, choice in (("max", fm.at_least, fm.maximum), ("min", fm.at_most, fm.minimum)):
        want = [elementwise.apply(op, a, b, SINGLE) for a, b in pairs]
        np.testing.assert_array_equal(choice(x, y), [w[0] for w in want])
        np.testing.assert_array_equal(flag(x, y), [bool(w[1]) for w in want])
    np.testing.assert_array_equal(fm.relu(x, y), [elementwise.relu(a, b, SINGLE, 0) for a, b in pairs])


@pytest.mark.parametrize("op, model", [("floor", fm.floor), ("ftoi", fm.to_integer), ("rsqrt", fm.rsqrt)])
def test_unary_operations(op: str, model: Callable[[U32], U32]) -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate([BOUNDARY, _near(rng, rng.integers(120, 162, COUNT)), _wide(rng, COUNT // 4)])
    np.testing.assert_array_equal(model(x), [elementwise.apply(op, a, 0, SINGLE)[0] for a in x.tolist()])


def test_shifts_of_all_counts() -> None:
    x, count = _pairs(5)
    count = np.where(np.arange(count.size) % 4 != 0, count % 70, count).astype(np.uint32)
    pairs = list(zip(x.tolist(), count.tolist(), strict=True))
    cases = (("lsl", False, fm.shift_left), ("lsr", True, fm.shift_right), ("lsr", False, fm.shift_right_signed))
    for op, unsigned, model in cases:
        want = [integer.apply(op, a, b, 32, unsigned)[0] for a, b in pairs]
        np.testing.assert_array_equal(model(x, count), want)
