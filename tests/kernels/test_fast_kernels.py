"""The fast stand-ins give the bits of the kernels they stand for: boundary operands, cancellation, overlap."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from hw.kernels.abi import TILE, Kernel
from hw.kernels.fast import FAST
from hw.kernels.fast_half_matrix import DECODED_WORDS

U64 = NDArray[np.uint64]
_CALL = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 7)
_SPECIAL = np.array([0, 1, 2, 62, 63, 64, 126, 127, 128, 253, 254, 255])
_MANTISSAS = np.array([0, 1, 2, 31, 32, 33, 0x1FF, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFE0, 0x7FFFFE, 0x7FFFFF])


def _aligned(count: int) -> U64:
    """Zeroed words at a multiple of 64 bytes."""
    memory = np.zeros(count + 8, np.uint64)
    skip = -memory.ctypes.data // 8 % 8
    return memory[skip : skip + count]


def _pointers(*arrays: NDArray[np.generic]) -> list[int]:
    return [array.ctypes.data for array in arrays]


class Bench:
    """Operand tiles, and both ways to run a kernel on them."""

    def __init__(self, general: Kernel) -> None:
        self.general, self.fast = general, FAST[general]
        self.sources = [_aligned(TILE) for _ in range(3)]
        self.matrix, self.decoded = _aligned(1024), _aligned(DECODED_WORDS)
        self.expected, self.got = _aligned(TILE), _aligned(TILE)
        self.flags = np.zeros(256, np.uint8)

    def run_general(self) -> int:
        """Result in `expected`; the error code."""
        parameters = np.zeros(8, np.int64)
        tiles = _pointers(*self.sources, self.expected, self.flags, self.matrix, parameters)
        _CALL(self.general.address)(*tiles)
        return int(parameters[7])

    def run_fast(self, out: U64) -> int:
        """Result in `out`; 1 when a block was refused."""
        parameters = np.zeros(8, np.int64)
        table = np.array([row for tile in (*self.sources, out) for row in _rows(tile)], np.int64)
        matrix = self.matrix
        if self.fast.decoder is not None:
            decode = np.zeros(32, np.int64)
            decode[0], decode[24] = _pointers(self.matrix, self.decoded)
            self._call(self.fast.decoder, decode, self.matrix, parameters)
            if parameters[7]:
                return 1
            matrix = self.decoded
        self._call(self.fast.kernel, table, matrix, parameters)
        return int(parameters[7])

    @staticmethod
    def _call(kernel: Kernel, table: NDArray[np.int64], matrix: U64, parameters: NDArray[np.int64]) -> None:
        at = table.ctypes.data
        _CALL(kernel.address)(at, at, at, at, at, matrix.ctypes.data, parameters.ctypes.data)

    def check(self) -> None:
        """Equal results, also with the result on the rows of each source."""
        self.run_general()
        assert self.run_fast(self.got) == 0
        assert np.array_equal(self.got, self.expected)
        for source in self.sources[: len(self.fast.long_words)]:
            saved = source.copy()
            assert self.run_fast(source) == 0
            assert np.array_equal(source, self.expected)
            source[:] = saved


def _rows(tile: U64) -> list[int]:
    return [tile.ctypes.data + 512 * row for row in range(8)]


def singles(rng: np.random.Generator, count: int) -> NDArray[np.uint32]:
    """Singles of one of several kinds: all patterns, near 1, boundary exponents; full, short and boundary mantissas."""
    exponent = [
        rng.integers(0, 256, count),
        rng.integers(90, 170, count),
        rng.integers(126, 129, count),
        rng.choice(_SPECIAL, count),
        rng.integers(1, 70, count),
    ][rng.integers(5)]
    mantissa = [
        rng.integers(0, 1 << 23, count),
        rng.choice(_MANTISSAS, count),
        1 << rng.integers(0, 23, count),
        rng.integers(0, 256, count) << 15,
    ][rng.integers(4)]
    return (rng.integers(0, 2, count) << 31 | exponent << 23 | mantissa).astype(np.uint32)


def halves(rng: np.random.Generator, shape: tuple[int, ...], exponent_shape: tuple[int, ...]) -> NDArray[np.uint16]:
    """Halves; the shape of the exponents broadcasts, so blocks can share one."""
    exponent = [
        rng.integers(0, 64, exponent_shape),
        rng.integers(27, 37, exponent_shape),
        rng.choice([0, 1, 62, 63], exponent_shape),
    ][rng.integers(3)]
    mantissa = [
        rng.integers(0, 512, shape),
        rng.choice([0, 1, 256, 510, 511], shape),
        (rng.random(shape) < 0.2) * rng.integers(0, 512, shape),
    ][rng.integers(3)]
    return (rng.integers(0, 2, shape) << 15 | exponent << 9 | mantissa).astype(np.uint16)


def _cancel(bench: Bench, addend: int, rng: np.random.Generator) -> None:
    """Make the addend minus the product of the other sources, give or take three units."""
    bench.sources[addend][:] = 0
    bench.run_general()
    product = bench.expected.view(np.uint32) ^ np.uint32(1 << 31)
    bench.sources[addend].view(np.uint32)[:] = product + rng.integers(-3, 4, 2 * TILE).astype(np.uint32)


def _near_ties(bench: Bench, rng: np.random.Generator) -> None:
    """Products of singles that end half a unit below the result, and addends at all distances below them."""
    for k, source in enumerate(bench.sources):
        mantissa = (1 << rng.integers(9, 15, 2 * TILE)) + (rng.random(2 * TILE) < 0.3) * rng.integers(0, 40, 2 * TILE)
        exponent = rng.integers(126, 129, 2 * TILE)
        if k == (1 if "add" in bench.general.name else 2):
            exponent = exponent - rng.integers(0, 50, 2 * TILE)
            mantissa = rng.choice(np.array([0, 0, 1, 0x7FFFFF, 0x400000, 0x555555]), 2 * TILE)
        sign = rng.integers(0, 2, 2 * TILE)
        source.view(np.uint32)[:] = (sign << 31 | exponent << 23 | mantissa).astype(np.uint32)


def _fill_vector(bench: Bench, rng: np.random.Generator) -> None:
    if rng.integers(4) == 0:
        return _near_ties(bench, rng)
    for source in bench.sources:
        source.view(np.uint32)[:] = singles(rng, 2 * TILE)
    if bench.general.name.startswith("mau.h"):
        factors = 1 if "vadd" in bench.general.name else 2
        for source in bench.sources[:factors]:
            source.view(np.uint16)[:1024] = halves(rng, (1024,), (1024,))
    addend = {"mau.fvfma": 2, "mau.hvfma": 2, "mau.hvadd": 1, "mau.fvadd": 1}.get(bench.general.name)
    if addend is not None and rng.integers(3) == 0:
        _cancel(bench, addend, rng)


def _fill_integer(bench: Bench, rng: np.random.Generator) -> None:
    """Patterns with many zero and all-ones elements, short ones for shift counts, and equal operands."""
    for source in bench.sources:
        words = rng.integers(0, 1 << 64, TILE, dtype=np.uint64)
        kind = rng.integers(0, 5, TILE)
        words = np.where(kind == 1, words & np.uint64(0x003F001F000F0087), words)
        words = np.where(kind == 2, words | np.uint64(0x7FFF00008000FFFF), words)
        words = np.where(kind == 3, words & np.uint64(0xFF80000080000000), words)
        source[:] = np.where(kind == 4, bench.sources[0], words)


def _single_blocks(rng: np.random.Generator, rows: int) -> NDArray[np.uint32]:
    """Rows of singles [4][16][2]; the eight words of a MAB and row share an exponent, both cases of the low bits."""
    words = singles(rng, rows * 128).reshape(rows, 4, 16, 2)
    near = rng.integers(120, 136, (rows, 1, 16, 1))
    exponents = np.where(rng.random((rows, 1, 16, 1)) < 0.2, rng.choice(_SPECIAL, (rows, 1, 16, 1)), near)
    if rng.integers(2):
        words &= np.uint32(0xFFFFFFE0)
    return (words & np.uint32(0x807FFFFF) | (exponents << 23).astype(np.uint32)).reshape(-1)


def _fill_matrix(bench: Bench, rng: np.random.Generator) -> None:
    if bench.general.name[4] in "fg":
        bench.matrix.view(np.uint32)[:] = _single_blocks(rng, 16)
        bench.sources[0].view(np.uint32)[:512] = _single_blocks(rng, 4)
        bench.sources[1].view(np.uint32)[:] = singles(rng, 2 * TILE)
        if rng.integers(3) == 0 and "mfma" in bench.general.name:
            _cancel(bench, 1, rng)
        return
    bench.matrix.view(np.uint16)[:] = halves(rng, (16, 4, 16, 4), (16, 1, 16, 1)).reshape(-1)
    bench.sources[0].view(np.uint16)[:1024] = halves(rng, (4, 4, 16, 4), (4, 1, 16, 1)).reshape(-1)
    bench.sources[1].view(np.uint32)[:] = singles(rng, 2 * TILE)
    if rng.integers(3) == 0:
        _cancel(bench, 1, rng)


def _fill_floats(bench: Bench, rng: np.random.Generator) -> None:
    """Operands of the block-float conversions: halves, singles or doubles."""
    source = bench.sources[0]
    if bench.general.name.startswith("alu.h"):
        source.view(np.uint16)[:] = halves(rng, (16 * 128,), (16 * 128,))
        return
    source.view(np.uint32)[:] = singles(rng, 2 * TILE)
    if bench.general.name.startswith("alu.d"):
        exponents = rng.choice(np.array([0, 1, 1000, 1003, 1020, 1023, 1024, 2046, 2047], np.uint64), TILE)
        keep = rng.choice(np.array([0x800FFFFFFFFFFFFF, 0x800FFFFF00000000, 0xFFFFFFFFFFFFFFFF], np.uint64))
        ones = np.where(rng.random(TILE) < 0.1, np.uint64(0x000FFFFFFFFFFFFF), np.uint64(0))
        source[:] = (source & keep | ones) & np.uint64(0x800FFFFFFFFFFFFF) | exponents << np.uint64(52)


def _filler(kernel: Kernel) -> Callable[[Bench, np.random.Generator], None]:
    if FAST[kernel].decoder is not None:
        return _fill_matrix
    if "bf" in kernel.name:
        return _fill_floats
    return _fill_vector if kernel.name.startswith("mau") else _fill_integer


def _run(kernel: Kernel, rounds: int) -> None:
    bench, rng, fill = Bench(kernel), np.random.default_rng(7), _filler(kernel)
    for _ in range(rounds):
        fill(bench, rng)
        bench.check()


@pytest.mark.parametrize("kernel", FAST, ids=lambda kernel: kernel.name)
def test_same_bits(kernel: Kernel) -> None:
    _run(kernel, 20)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", FAST, ids=lambda kernel: kernel.name)
def test_same_bits_on_a_million_elements(kernel: Kernel) -> None:
    _run(kernel, 2000)


@pytest.mark.parametrize("kernel", [kernel for kernel in FAST if FAST[kernel].decoder], ids=lambda kernel: kernel.name)
def test_mixed_blocks_are_refused(kernel: Kernel) -> None:
    """One flipped exponent bit anywhere in the matrix or in x; nothing is written."""
    bench, rng = Bench(kernel), np.random.default_rng(5)
    for _ in range(40):
        _fill_matrix(bench, rng)
        target = rng.choice([0, 1])
        single = kernel.name[4] in "fg"  # every second row, and f looks at first words only
        words = bench.matrix.reshape(16, 64)[:: 2 if single else 1] if target else bench.sources[0][:256].reshape(4, 64)
        bit = rng.integers(55, 63) if single else 16 * rng.integers(4) + rng.integers(9, 15)
        words[rng.integers(len(words)), rng.integers(64)] ^= np.uint64(1) << np.uint64(bit)
        bench.got[:] = 77
        assert bench.run_fast(bench.got) == 1
        assert np.all(bench.got == 77)
