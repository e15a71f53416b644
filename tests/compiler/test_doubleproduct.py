"""The NumPy model of matrix products in double precision agrees with the exact integer reference, bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.layers import doublemath as dm
from compiler.layers import doubleproduct as dp
from hw.formats import blockfloat, multiply_add, reduction
from hw.formats.descriptor import DOUBLE

U64 = NDArray[np.uint64]
ROUND = np.array([0, 1, 0xFFFF, 0x10000, (1 << 52) - 1, (1 << 52) - 2, 1 << 51], np.uint64)


def _doubles(rng: np.random.Generator, shape: tuple[int, ...], low: int = 1000, high: int = 1040) -> U64:
    """Random doubles, with zeros and round mantissas among them."""
    mantissa = rng.integers(0, 1 << 52, shape).astype(np.uint64)
    mantissa = np.where(rng.random(shape) < 0.4, rng.choice(ROUND, shape), mantissa)
    exponent = rng.integers(low, high, shape).astype(np.uint64) << np.uint64(52)
    bits = exponent | mantissa | rng.integers(0, 2, shape).astype(np.uint64) << np.uint64(63)
    return np.where(rng.random(shape) < 0.1, np.uint64(0), bits)


def _block(raw: U64) -> list[int]:
    return blockfloat.convert(raw.tolist(), "d", 52)


def test_block_float_conversion() -> None:
    blocks = _doubles(np.random.default_rng(1), (1500, 4), 950, 1040)
    blocks[:5] = 0
    fields, shared = dp.block(blocks)
    for block, values, exponent in zip(blocks, fields, shared, strict=True):
        want = _block(block)
        assert np.abs(values).tolist() == [w & dp.MANTISSA for w in want]
        assert {(w >> 52 & 2047) or -8976 for w in want} == {int(exponent) + 1023}
        assert all(v == 0 or (v < 0) == bool(w >> 63) for v, w in zip(values, want, strict=True))


def test_products_with_near_and_far_addends_and_cancellation() -> None:
    rng = np.random.default_rng(2)
    rows, columns = 60, 50
    left, right = _doubles(rng, (rows, 4), 1018, 1026), _doubles(rng, (columns, 4), 1018, 1026)
    left[0], right[1] = 0, 0
    a, b = dp.block(left), dp.block(right)
    zero = np.zeros((rows, columns), np.uint64)
    exact = dp.multiply(a, b, zero)
    addends = _doubles(rng, (rows, columns), 920, 1090)
    near = np.where(rng.random((rows, columns)) < 0.5, exact ^ dm.SIGN, addends)
    for addend in (zero, addends, near):
        want = [
            [multiply_add.matrix_row(_block(x), _block(r), int(y), "d", DOUBLE) for r, y in zip(right, ys, strict=True)]
            for x, ys in zip(left, addend, strict=True)
        ]
        np.testing.assert_array_equal(dp.multiply(a, b, addend), np.array(want, np.uint64))


def test_reduction_circuits() -> None:
    rng = np.random.default_rng(3)
    for size in (2, 4, 8):
        parts = _doubles(rng, (size, 2000), 960, 1030)
        parts[:, :3] = [[dm.INF], [dm.INF | dm.SIGN]] * (size // 2)
        want = [reduction.fadd(column.tolist(), DOUBLE, DOUBLE) for column in parts.T]
        np.testing.assert_array_equal(dm.circuit(parts), np.array(want, np.uint64))
