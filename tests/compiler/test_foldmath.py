"""The NumPy model of reductions agrees with the exact integer reference, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.layers import foldmath
from hw.formats import multiply_add, reduction
from hw.formats.descriptor import SINGLE

SPECIAL = (0, 0x80000000, 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x00800000, 0x3F800000, 0xB33FFFFF)


def _singles(rng: np.random.Generator, size: int) -> NDArray[np.uint32]:
    """Exponents close together, far apart, and the special patterns."""
    spread = rng.choice([2, 30, 120], size)
    exponent = np.clip(127 + rng.integers(-spread, spread + 1), 0, 254)
    mantissa = np.where(rng.random(size) < 0.3, rng.choice([0, 0x7FFFFF, 31], size), rng.integers(0, 1 << 23, size))
    bits = rng.integers(0, 2, size) << 31 | exponent << 23 | mantissa
    return np.where(rng.random(size) < 0.2, rng.choice(SPECIAL, size), bits).astype(np.uint32)


def _normal(bits: NDArray[np.uint32]) -> NDArray[Any]:
    return foldmath.normalised(bits.view(np.float32))


def _bits(values: NDArray[Any]) -> list[int]:
    return [int(v) for v in np.asarray(values, np.float32).view(np.uint32).ravel()]


def test_pass_addition_and_product() -> None:
    rng = np.random.default_rng(5)
    x, y = _singles(rng, 3000), _singles(rng, 3000)
    one, zero = multiply_add.one("f"), 0
    pairs = list(zip(map(int, x), map(int, y), strict=True))
    assert _bits(_normal(x)) == [multiply_add.fma(a, one, zero, "f", SINGLE) for a, _ in pairs]
    assert _bits(foldmath.add(_normal(x), _normal(y))) == [multiply_add.fma(a, one, b, "f", SINGLE) for a, b in pairs]
    got = foldmath.multiply(_normal(x), _normal(y))
    assert _bits(got) == [multiply_add.fma(a, b, zero, "f", SINGLE) for a, b in pairs]


def test_addition_does_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(6)
    one = multiply_add.one("f")
    for a, b in zip(map(int, _singles(rng, 1000)), map(int, _singles(rng, 1000)), strict=True):
        assert multiply_add.fma(a, one, b, "f", SINGLE) == multiply_add.fma(b, one, a, "f", SINGLE)


def test_circuit() -> None:
    rng = np.random.default_rng(7)
    for count in (2, 4, 8):
        parts = np.stack([_singles(rng, 500) for _ in range(count)])
        got = _bits(foldmath.sum_circuit(np.stack([_normal(row) for row in parts])))
        assert got == [reduction.fadd([int(v) for v in column], SINGLE, SINGLE) for column in parts.T]
