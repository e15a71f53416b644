"""Reduction kernels against their references, and their unit values."""

from __future__ import annotations

import numpy as np
import pytest

from hw.formats.descriptor import FLOATS, INTEGER_BITS, SINGLE
from hw.kernels.rrn import RRN, RRN_NARROW
from tests.kernels.kernel_harness import Tile, Words, check_reduce, run
from tests.kernels.operands import counterparts, floats, integers

SHAPES = [(1, 5), (2, 64), (4, 70), (8, 33), (16, 3)]
SLOW_ELEMENTS = 1_000_000


def _inputs(rng: np.random.Generator, prec: str, n: int, columns: int) -> Words:
    """[n][columns] long words; floats partly cancel."""
    if prec in INTEGER_BITS:
        return integers(rng, INTEGER_BITS[prec], n * columns).reshape(n, columns)
    words = floats(rng, FLOATS[prec], n * columns).reshape(n, columns)
    if n > 1 and rng.integers(0, 2):
        words[1] = counterparts(rng, words[0], FLOATS[prec])
    return words


@pytest.mark.parametrize("key", RRN, ids=str)
def test_reduction(key: tuple[str, str]) -> None:
    rng = np.random.default_rng(sum(map(ord, str(key))))
    for n, count in SHAPES:
        check_reduce(RRN[key], _inputs(rng, key[0], n, count))


@pytest.mark.parametrize("op", RRN_NARROW)
def test_narrowing_reduction(op: str) -> None:
    rng = np.random.default_rng(sum(map(ord, op)))
    for n, count in SHAPES:
        check_reduce(RRN_NARROW[op], _inputs(rng, "f", n, 2 * count).reshape(n, 2, count), narrow=True)


@pytest.mark.slow
@pytest.mark.parametrize("key", RRN, ids=str)
def test_reduction_many(key: tuple[str, str]) -> None:
    rng = np.random.default_rng(sum(map(ord, str(key))))
    bits = INTEGER_BITS.get(key[0]) or FLOATS[key[0]].bits
    for n in (2, 4, 8, 16):
        check_reduce(RRN[key], _inputs(rng, key[0], n, SLOW_ELEMENTS * bits // (64 * n * 4)))


@pytest.mark.slow
@pytest.mark.parametrize("op", RRN_NARROW)
def test_narrowing_reduction_many(op: str) -> None:
    rng = np.random.default_rng(sum(map(ord, op)))
    for n in (2, 4):
        count = SLOW_ELEMENTS // (n * 8)
        check_reduce(RRN_NARROW[op], _inputs(rng, "f", n, 2 * count).reshape(n, 2, count), narrow=True)


@pytest.mark.parametrize("key", RRN, ids=str)
def test_unit_value_changes_nothing(key: tuple[str, str]) -> None:
    rng = np.random.default_rng(12)
    inputs = _inputs(rng, key[0], 2, 40)
    padded = np.vstack([inputs, np.full((6, 40), RRN[key].unit_value, np.uint64)])
    alone = run(RRN[key], Tile(inputs.reshape(-1), par=(2, 40)), 40).out
    assert (run(RRN[key], Tile(padded.reshape(-1), par=(8, 40)), 40).out == alone).all()


def test_input_order_is_irrelevant() -> None:
    rng = np.random.default_rng(13)
    inputs = floats(rng, SINGLE, 8 * 64).reshape(8, 64)
    kernel = RRN["f", "fadd"]
    first = run(kernel, Tile(inputs.reshape(-1), par=(8, 64)), 64).out
    shuffled = np.ascontiguousarray(inputs[rng.permutation(8)])
    assert (run(kernel, Tile(shuffled.reshape(-1), par=(8, 64)), 64).out == first).all()


def test_legal_keys() -> None:
    assert set(RRN) == {(p, op) for p in "dfh" for op in ("fadd", "max", "min")} | {
        (p, op) for p in "lis" for op in ("iadd", "band", "bor", "and", "or")
    }
    assert set(RRN_NARROW) == {"fadd", "max", "min"}
