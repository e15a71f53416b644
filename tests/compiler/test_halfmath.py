"""The NumPy model of the layers' arithmetic agrees with the exact integer reference, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.layers import halfmath as hm
from hw.formats import blockfloat, multiply_add, precision, reduction
from hw.formats.descriptor import HALF, SINGLE
from hw.formats.exact import encode, number


def _halves(rng: np.random.Generator, shape: tuple[int, ...], *, spread: int = 8) -> np.ndarray:
    """Random finite halves whose exponents lie within `spread` of each other, with zeros and full mantissas among
    them.
    """
    exponent = rng.integers(31 - spread, 32, shape)
    mantissa = rng.choice([0, 511, 510, 256], shape)
    mantissa = np.where(rng.random(shape) < 0.7, rng.integers(0, 512, shape), mantissa)
    bits = rng.integers(0, 2, shape) << 15 | exponent << 9 | mantissa
    return np.where(rng.random(shape) < 0.1, 0, bits).astype(np.uint16)


def _singles(rng: np.random.Generator, shape: tuple[int, ...], *, low: int = 105, high: int = 140) -> np.ndarray:
    bits = rng.integers(0, 2, shape) << 31 | rng.integers(low, high, shape) << 23 | rng.integers(0, 1 << 23, shape)
    return np.where(rng.random(shape) < 0.1, 0, bits).astype(np.uint32)


def _patterns(values: np.ndarray) -> list[int]:
    return [int(v) for v in np.asarray(values, np.float32).view(np.uint32).ravel()]


def test_narrowing_of_every_kind_of_single() -> None:
    rng = np.random.default_rng(1)
    bits = np.concatenate(
        [_singles(rng, (4000,), low=90, high=165), [0x80000000, 0x7F7FFFFF, 0x4F7FE000, 0x3F802000, 1]]
    )
    got = hm.float_to_half(bits.astype(np.uint32).view(np.float32))
    want = [encode(number(int(b), SINGLE), HALF) for b in bits]
    assert got.tolist() == want


def test_widening_of_every_half() -> None:
    bits = np.array([b for b in range(1 << 16) if (b >> 9) & 63 != 63], np.uint16)
    want = [precision.value_widen(int(b), HALF, SINGLE, keep_zero_sign=True) for b in bits]
    assert _patterns(hm.half_to_float(bits)) == want


def test_block_float_conversion() -> None:
    rng = np.random.default_rng(2)
    blocks = _halves(rng, (500, 16), spread=20)
    fields, shared = hm.block_float(blocks)
    for block, values, exponent in zip(blocks, fields, shared, strict=True):
        want = blockfloat.convert([int(b) for b in block], "h", 9)
        assert [abs(int(v)) for v in values] == [w & 511 for w in want]
        assert {w >> 9 & 63 for w in want} == {int(exponent)}
        assert all(v == 0 or (v < 0) == bool(w >> 15) for v, w in zip(values, want, strict=True))


@pytest.mark.parametrize("low, high", [(120, 135), (90, 165)])
def test_matrix_row_with_addend(low: int, high: int) -> None:
    rng = np.random.default_rng(3)
    rows, vectors, addends = _halves(rng, (300, 16)), _halves(rng, (300, 16)), _singles(rng, (300,), low=low, high=high)
    got = hm.matvec(hm.block_float(rows), hm.block_float(vectors), addends.view(np.float32))
    for k in range(300):
        a = blockfloat.convert([int(b) for b in rows[k]], "h", 9)
        x = blockfloat.convert([int(b) for b in vectors[k]], "h", 9)
        want = multiply_add.matrix_row(a, x, int(addends[k]), "h", SINGLE)
        assert _patterns(got[k : k + 1]) == [want], k


def test_reduction_over_the_mabs_rounds_once_to_half() -> None:
    rng = np.random.default_rng(4)
    parts = _singles(rng, (16, 300), low=118, high=130)
    got = hm.reduce_mabs(parts.view(np.float32))
    for k in range(300):
        column = [int(v) for v in parts[:, k]]
        first = [reduction.fadd(column[4 * h : 4 * h + 4], SINGLE, SINGLE) for h in range(4)]
        assert int(got[k]) == reduction.fadd(first, SINGLE, HALF), k


def test_overflow_is_an_error_not_a_number() -> None:
    with pytest.raises(OverflowError):
        hm.block_float(np.full(16, 0x7DFF, np.uint16))
