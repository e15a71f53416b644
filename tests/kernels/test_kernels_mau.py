"""MAU kernels against their references: vector and matrix operations, near-cancellation, extended and mixed blocks."""

from __future__ import annotations

import numpy as np
import pytest

from hw.formats.descriptor import BLOCKS, DOUBLE, FLOATS, HALF, SINGLE
from hw.formats.errors import MixedBlockError
from hw.kernels.matrix_move import MREAD, MWRITE
from hw.kernels.mau_matrix import MAU_MATRIX
from hw.kernels.mau_vector import MAU_VECTOR
from hw.kernels.mixed import ERROR_SLOT, MATRIX_ROW, VECTOR_BLOCK, decode
from tests.kernels.kernel_harness import Tile, Words, check, expected, run
from tests.kernels.operands import blocks, counterparts, floats, pack, random_words

SLOW_ELEMENTS = 1_000_000
ROWS = {"d": 4, "f": 8, "g": 8, "h": 16}
RESULTS_PER_LANE = {"d": 1, "f": 2, "g": 2, "h": 4}
VectorKey = tuple[str, str, bool, str]


def _check_vector(key: VectorKey, tiles: int) -> None:
    op, prec, _, half = key
    rng = np.random.default_rng(sum(map(ord, str(key))))
    factor, addend = FLOATS[prec], DOUBLE if prec == "d" else SINGLE
    plain = MAU_VECTOR["vmul", prec, False, half] if op == "vfma" else MAU_VECTOR["vpassa", prec, False, ""]
    for tile in range(tiles):
        x, y, z = floats(rng, factor, 512), floats(rng, factor, 512), floats(rng, addend, 512)
        if tile % 2:
            z = counterparts(rng, run(plain, Tile(x, y)).out, addend)
        check(MAU_VECTOR[key], Tile(x, z if op == "vadd" else y, z))


def _matrix_tile(rng: np.random.Generator, prec: str, extended: bool) -> Tile:
    """Proper blocks on the physical rows of the precision, garbage on the others."""
    rows = ROWS[prec]
    plane = random_words(rng, 1024)
    plane.reshape(16, 64)[:: 16 // rows] = blocks(rng, prec, rows, extended=extended).reshape(rows, 64)
    x = np.concatenate([blocks(rng, prec, 4, extended=extended), random_words(rng, 256)])
    return Tile(x, floats(rng, DOUBLE if prec == "d" else SINGLE, 512), mat=plane)


def _check_matrix(key: VectorKey, tiles: int) -> None:
    _, prec, _, half = key
    rng = np.random.default_rng(sum(map(ord, str(key))))
    for number in range(tiles):
        tile = _matrix_tile(rng, prec, extended=prec == "h" and number % 2 == 1)
        if number % 3 == 2:
            product = run(MAU_MATRIX["mmul", prec, False, half], tile).out
            tile.s1 = counterparts(rng, product, DOUBLE if prec == "d" else SINGLE)
        check(MAU_MATRIX[key], tile)
        assert run(MAU_MATRIX[key], tile).par[ERROR_SLOT] == 0


@pytest.mark.parametrize("key", MAU_VECTOR, ids=str)
def test_vector(key: VectorKey) -> None:
    _check_vector(key, 4)


@pytest.mark.parametrize("key", MAU_MATRIX, ids=str)
def test_matrix(key: VectorKey) -> None:
    _check_matrix(key, 3)


@pytest.mark.slow
@pytest.mark.parametrize("key", MAU_VECTOR, ids=str)
def test_vector_many(key: VectorKey) -> None:
    _check_vector(key, SLOW_ELEMENTS // (256 * RESULTS_PER_LANE[key[1]]) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("key", MAU_MATRIX, ids=str)
def test_matrix_many(key: VectorKey) -> None:
    _check_matrix(key, SLOW_ELEMENTS // (256 * RESULTS_PER_LANE[key[1]]) + 1)


def test_tables_are_complete() -> None:
    assert len(MAU_VECTOR) == 2 * (4 + 4 + 6)
    assert len(MAU_MATRIX) == 2 * 2 * 5
    assert set(MWRITE) == {("d", 1), ("f", 1), ("g", 1), ("h", 1), ("h", 2)}
    assert set(MREAD) == {("d", 1), ("f", 1), ("g", 1), ("h", 2)}


@pytest.mark.parametrize("narrow", [False, True])
def test_half_passa_exhaustive(narrow: bool) -> None:
    every = pack(np.arange(65536, dtype=np.uint64), 16)
    for start in range(0, len(every), 256):
        check(MAU_VECTOR["vpassa", "h", narrow, ""], Tile(np.concatenate([every[start : start + 256]] * 2)))


@pytest.mark.parametrize("key", MWRITE, ids=str)
def test_matrix_write(key: tuple[str, int]) -> None:
    rng = np.random.default_rng(8)
    for start in range(0, 16, key[1]):
        check(MWRITE[key], Tile(random_words(rng, 512), mat=random_words(rng, 1024), par=(start,)))


@pytest.mark.parametrize("key", MREAD, ids=str)
def test_matrix_read(key: tuple[str, int]) -> None:
    rng = np.random.default_rng(9)
    for start in range(0, 16, key[1]):
        check(MREAD[key], Tile(random_words(rng, 512), mat=random_words(rng, 1024), par=(start,)))


def _flip_exponent(words: Words, index: int, prec: str) -> None:
    """Change the lowest exponent bit of the first element of a long word."""
    fmt = BLOCKS[prec].element
    words[index] ^= np.uint64(1 << (64 - fmt.bits + fmt.mantissa_bits))


@pytest.mark.parametrize("prec", ROWS)
@pytest.mark.parametrize("kind", [MATRIX_ROW, VECTOR_BLOCK])
def test_mixed_blocks_are_reported(prec: str, kind: int) -> None:
    rng = np.random.default_rng(10)
    fmt = BLOCKS[prec].element
    tile = _matrix_tile(rng, prec, extended=False)
    one = np.uint64(fmt.join(0, fmt.bias, 1))
    for words in (tile.mat, tile.s0):
        words[:] = pack(np.full(len(words) * 64 // fmt.bits, one, np.uint64), fmt.bits)
    index, m = 1, 5
    words, row = (tile.mat, index * 16 // ROWS[prec]) if kind == MATRIX_ROW else (tile.s0, index)
    _flip_exponent(words, row * 64 + 2 * 16 + m, prec)
    kernel = MAU_MATRIX["mmul", prec, False, "u" if prec == "d" else ""]
    assert decode(int(run(kernel, tile).par[ERROR_SLOT])) == (kind, m, index)
    with pytest.raises(MixedBlockError):
        expected(kernel, tile)


def test_unused_rows_and_columns_may_be_improper() -> None:
    rng = np.random.default_rng(11)
    double, single = _matrix_tile(rng, "d", False), _matrix_tile(rng, "f", False)
    _flip_exponent(double.mat, 3 * 256 + 7, "d")
    assert run(MAU_MATRIX["mmul", "d", False, "u"], double).par[ERROR_SLOT] == 0
    assert run(MAU_MATRIX["mmul", "d", False, "d"], double).par[ERROR_SLOT] != 0
    single.mat[128 + 6] ^= np.uint64(1 << SINGLE.mantissa_bits)
    check(MAU_MATRIX["mfma", "f", False, ""], single)


def test_half_extremes_do_not_overflow_the_integer_sum() -> None:
    """Sixteen products of all-ones fields, the largest sum there is."""
    fmt = HALF
    largest = pack(np.full(4096, fmt.join(0, fmt.bias, 511), np.uint64), 16)
    for sign in (0, 0x8000):
        tile = Tile(largest[:512] ^ np.uint64(sign * 0x0001000100010001), mat=largest)
        check(MAU_MATRIX["mmul", "h", False, ""], tile)
