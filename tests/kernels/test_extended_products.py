"""Products of extended half elements: every pair of fields, as the vendor's emulator rounds them.

`extended_products.xz` holds, for a shift of 6 and then of 12, one bit for each pair a <= x of 9-bit fields in the order
of `numpy.triu_indices`: whether the emulator's value is one unit below the product rounded to nearest even.
"""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hw.formats.multiply_add import shifted_half_product
from hw.kernels.mau_matrix import MAU_MATRIX
from tests.kernels.kernel_harness import Tile, run

DATA = Path(__file__).parents[1] / "data" / "extended_products.xz"
PAIRS = 512 * 513 // 2
ONE = 31 << 9  # exponent field of a block of scale 1
PLAIN = np.uint64(ONE * 0x0001000100010001)
UNIT = 2.0**-16  # last place of the product of two fields at this scale


def _table(shift: int) -> tuple[Any, Any, Any]:
    """(a, x, value) of all pairs a <= x."""
    a, x = np.triu_indices(512)
    bits = np.frombuffer(lzma.decompress(DATA.read_bytes()), np.uint8)
    half = len(bits) // 2
    lower = np.unpackbits(bits[:half] if shift == 6 else bits[half:])[:PAIRS].astype(np.int64)
    product = a * x
    nearest = (product + (1 << shift - 1) - 1 + (product >> shift & 1)) >> shift
    return a, x, nearest - lower


@pytest.mark.parametrize("shift", [6, 12])
def test_every_pair(shift: int) -> None:
    a, x, value = _table(shift)
    assert (shifted_half_product(a, x, shift) == value).all()
    assert (shifted_half_product(x, a, shift) == value).all()


@pytest.mark.parametrize("shift", [6, 12])
def test_every_pair_in_the_kernel(shift: int) -> None:
    """Sixteen fields a in the rows of the matrix, 64 fields x in the cycles and MABs of a tile, all other fields 0."""
    wanted = np.zeros((512, 512))
    a, x, value = _table(shift)
    wanted[a, x] = wanted[x, a] = value
    kernel = MAU_MATRIX["mmul", "h", False, ""]
    exponent = 0 if shift == 12 else ONE
    for first_a in range(0, 512, 16):
        matrix = np.full((16, 4, 16), PLAIN)
        matrix[:, 0] = _first_element(np.arange(first_a, first_a + 16), 0)[:, None]
        for first_x in range(0, 512, 64):
            vectors = np.full((2, 4, 4, 16), PLAIN)
            vectors[0, :, 0] = _first_element(np.arange(first_x, first_x + 64), exponent).reshape(4, 16)
            out = run(kernel, Tile(vectors.reshape(-1), np.zeros(512, np.uint64), mat=matrix.reshape(-1))).out
            words = np.stack([out >> np.uint64(32), out & np.uint64(0xFFFFFFFF)], -1).astype(np.uint32)
            values = words.view(np.float32).reshape(2, 4, 4, 16, 2).transpose(2, 0, 4, 1, 3).reshape(16, 64)
            assert (values == wanted[first_a : first_a + 16, first_x : first_x + 64] * UNIT).all(), (first_a, first_x)


def _first_element(fields: Any, exponent: int) -> Any:
    """Long words whose first element has this field and exponent, the others the block's exponent and field 0."""
    return PLAIN & np.uint64(0xFFFFFFFFFFFF) | (fields | exponent).astype(np.uint64) << np.uint64(48)
