"""ALU kernels against their references: every table entry; unary half operations exhaustively."""

from __future__ import annotations

import numpy as np
import pytest

from hw.formats.descriptor import BLOCKS, FLOATS, HALF, INTEGER_BITS, SINGLE
from hw.kernels.alu_float import ALU_FLOAT
from hw.kernels.alu_int import ALU_INT
from hw.kernels.alu_misc import IMM, MSL, MSR, ZERO
from hw.kernels.bfn import BFN
from hw.kernels.modifiers import NARROW_RAW, NEG, WIDEN
from tests.kernels.kernel_harness import Tile, check
from tests.kernels.operands import floats, integers, pack, random_words

SLOW_ELEMENTS = 1_000_000
UNIQUE_INT = [key for key, kernel in ALU_INT.items() if not (key[2] and kernel is ALU_INT[key[0], key[1], False])]
FLOAT_ONLY = [key for key in ALU_FLOAT if key[0] not in ("passa", "packbit")]
HALF_UNARY = ["rsqrt", "floor", "ftoi", "uftoi"]


def _check_int(key: tuple[str, str, bool], tiles: int) -> None:
    rng = np.random.default_rng(sum(map(ord, str(key))))
    bits = INTEGER_BITS[key[1]]
    for _ in range(tiles):
        x, y = integers(rng, bits, 512), integers(rng, bits, 512)
        check(ALU_INT[key], Tile(x, np.where(rng.integers(0, 8, 512) == 0, x, y)))


def _check_float(key: tuple[str, str], tiles: int) -> None:
    rng = np.random.default_rng(sum(map(ord, str(key))))
    fmt = FLOATS[key[1]]
    for _ in range(tiles):
        x, y = floats(rng, fmt, 512), floats(rng, fmt, 512)
        check(ALU_FLOAT[key], Tile(x, np.where(rng.integers(0, 8, 512) == 0, x, y)))


def _check_bfn(key: tuple[str, int, bool], tiles: int) -> None:
    rng = np.random.default_rng(sum(map(ord, str(key))))
    for _ in range(tiles):
        check(BFN[key], Tile(floats(rng, BLOCKS[key[0]].element, 512)))


@pytest.mark.parametrize("key", UNIQUE_INT, ids=str)
def test_integer(key: tuple[str, str, bool]) -> None:
    _check_int(key, 2)


@pytest.mark.parametrize("key", FLOAT_ONLY, ids=str)
def test_float(key: tuple[str, str]) -> None:
    _check_float(key, 2)


@pytest.mark.parametrize("key", BFN, ids=str)
def test_block_float(key: tuple[str, int, bool]) -> None:
    _check_bfn(key, 3)


@pytest.mark.slow
@pytest.mark.parametrize("key", UNIQUE_INT, ids=str)
def test_integer_many(key: tuple[str, str, bool]) -> None:
    _check_int(key, SLOW_ELEMENTS * INTEGER_BITS[key[1]] // (256 * 64) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("key", FLOAT_ONLY, ids=str)
def test_float_many(key: tuple[str, str]) -> None:
    _check_float(key, SLOW_ELEMENTS * FLOATS[key[1]].bits // (256 * 64) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("key", BFN, ids=str)
def test_block_float_many(key: tuple[str, int, bool]) -> None:
    _check_bfn(key, SLOW_ELEMENTS * BLOCKS[key[0]].element.bits // (256 * 64) + 1)


def test_tables_are_complete() -> None:
    assert {(op, prec) for op, prec, _ in ALU_INT} == {(op, prec) for op, prec, _ in ALU_INT if prec in INTEGER_BITS}
    assert len(ALU_INT) == 17 * 3 * 2
    assert len(ALU_FLOAT) == 15 * 3
    assert len(BFN) == 11
    assert ALU_FLOAT["passa", "h"] is ALU_INT["passa", "s", False]


def test_flagless_operations_say_so() -> None:
    flagless = {key for key, kernel in ALU_FLOAT.items() if not kernel.has_flags}
    assert flagless == {(op, prec) for op in ("floor", "ftoi", "uftoi") for prec in FLOATS}
    assert all(kernel.has_flags for kernel in ALU_INT.values())
    assert not any(kernel.has_flags for kernel in (*BFN.values(), ZERO, IMM, MSL, MSR))


@pytest.mark.parametrize("op", HALF_UNARY)
def test_half_unary_exhaustive(op: str) -> None:
    every = pack(np.arange(65536, dtype=np.uint64), 16)
    for start in range(0, len(every), 256):
        check(ALU_FLOAT[op, "h"], Tile(np.concatenate([every[start : start + 256]] * 2)))


@pytest.mark.parametrize("kernel", [ZERO, IMM, MSL, MSR], ids=lambda kernel: kernel.name)
def test_untyped(kernel) -> None:  # type: ignore[no-untyped-def]
    check(kernel, Tile(random_words(np.random.default_rng(3), 512)))


@pytest.mark.parametrize("prec", NEG)
def test_negate(prec: str) -> None:
    check(NEG[prec], Tile(random_words(np.random.default_rng(4), 512)))


@pytest.mark.parametrize("key", WIDEN, ids=str)
def test_widen(key: tuple[str, str]) -> None:
    rng = np.random.default_rng(5)
    for _ in range(3):
        check(WIDEN[key], Tile(floats(rng, SINGLE if key[0] == "f" else HALF, 512)))


@pytest.mark.parametrize("rule", ["value", "keep_zero_sign", "raw"])
def test_widen_half_exhaustive(rule: str) -> None:
    every = pack(np.arange(65536, dtype=np.uint64), 16)
    for start in range(0, len(every), 256):
        check(WIDEN["h4", rule], Tile(np.concatenate([every[start : start + 256]] * 2)))


def test_narrow_raw() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        check(NARROW_RAW, Tile(floats(rng, SINGLE, 512)))


@pytest.mark.slow
def test_narrow_raw_all_exponents_and_rounding_positions() -> None:
    """Every sign, exponent and upper mantissa byte pair with the low bits that decide the rounding."""
    high = np.arange(1 << 18, dtype=np.uint64) << np.uint64(14)
    for low in (0, 1, 0x1FFF, 0x2000, 0x2001, 0x3FFF):
        words = pack(high | np.uint64(low), 32)
        for start in range(0, len(words), 512):
            check(NARROW_RAW, Tile(words[start : start + 512]))
