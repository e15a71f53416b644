"""Immediates, fixed inputs and input modifiers as sources."""

from __future__ import annotations

import numpy as np
import pytest

from hw.kernels.modifiers import NARROW_RAW, NEG, WIDEN
from hw.program import Dest, Fixed, Mem, Source
from hw.state import Memory
from tests.engine.build import dst, imm, passa, random_board, run, src, step


def test_immediates_reach_both_long_words_of_every_cycle() -> None:
    board = random_board()
    run(board, imm(0xFEDCBA9876543210, 1, dst(Mem.GRF0, 4)))
    rows = board.view(Memory.GRF0)[..., :8].reshape(-1, 4, 2)
    assert (rows[:, :, 0] == 0xFEDCBA9876543210).all() and (rows[:, :, 1] == 1).all()


def _expected(value: Fixed, n: int, c: int, b: int, m: int, p: int) -> int:
    numbers = {
        Fixed.L2BID: 2 * n + c,
        Fixed.L1BID: b,
        Fixed.MABID: m,
        Fixed.PEID: 4 * m + p,
        Fixed.SUBPEID: p,
    }
    return numbers[value]


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("value", list(Fixed))
def test_fixed_inputs(value: Fixed, bits: int) -> None:
    board = random_board()
    run(board, passa(Source(Mem.FIXED, value=value, element_bits=bits), dst(Mem.GRF0, 4)))
    view = board.view(Memory.GRF0)
    for place in [(0, 0, 0, 0, 0), (3, 1, 7, 15, 3), (1, 0, 5, 9, 2)]:
        element = 1 << (bits - 1) if value is Fixed.MSB1 else _expected(value, *place)
        long_word = sum(element << shift for shift in range(0, 64, bits))
        assert view[place][:8].tolist() == [long_word] * 8


def test_transforms_act_in_order() -> None:
    board = random_board()
    halves = Source(Mem.LM0, 2, (0, 2, 4, 6), transforms=(WIDEN[("h4", "raw")], NEG["f"], NARROW_RAW))
    before = board.view(Memory.LM0)[..., :4].copy()
    run(board, passa(halves, dst(Mem.GRF0, 4)))
    rows = board.view(Memory.GRF0)
    assert np.array_equal(rows[..., 0:8:2], before ^ np.uint64(0x8000800080008000))
    assert not rows[..., 1:8:2].any()


def test_the_plain_and_the_transformed_operand_in_one_step() -> None:
    board = random_board()
    before = board.view(Memory.LM0)[..., :4].copy()
    plain = src(Mem.LM0, 2)
    negated = src(Mem.LM0, 2, transforms=(NEG["d"],))
    run(board, step(passa(plain, dst(Mem.GRF0)), _mau(negated, dst(Mem.GRF1))))
    assert np.array_equal(board.view(Memory.GRF0)[..., :4], before)
    assert np.array_equal(board.view(Memory.GRF1)[..., :4], before ^ np.uint64(1 << 63))


def _mau(source: Source, *dests: Dest):  # type: ignore[no-untyped-def]
    from hw.program import Unit

    return passa(source, *dests, unit=Unit.MAU)
