"""Mask registers as destination, and zero flush."""

from __future__ import annotations

import numpy as np
import pytest

from hw.engine import LoweringError
from hw.kernels.alu_misc import MSL
from hw.program import Compute, Dest, L1Map, MaskRef, Mem, PeLoad, Source, Unit
from hw.state import Board, Memory
from tests.engine.build import PASSA_HALVES, along, dst, passa, random_board, run, src


def halves_board() -> tuple[Board, np.ndarray]:
    """GRF0 with random zero half words, and the flags of `spassa` on LW 0..3: [n, c, b, m, p, cycle]."""
    board = random_board()
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 16, board.grf[0].shape, dtype=np.uint64)
    rows = np.zeros_like(bits)
    for digit in range(4):
        zero = bits >> np.uint64(3 - digit) & np.uint64(1)
        rows |= np.where(zero == 1, 0, 0x1234).astype(np.uint64) << np.uint64(48 - 16 * digit)
    board.grf[0] = rows
    words = board.view(Memory.GRF0)[..., :4]
    flags = sum(
        ((words >> np.uint64(48 - 16 * d) & np.uint64(0xFFFF)) == 0).astype(np.uint8) << (3 - d) for d in range(4)
    )
    return board, np.asarray(flags)


def flag_step(*dests: Dest) -> Compute:
    return Compute(Unit.ALU, PASSA_HALVES, (Source(Mem.GRF0, 2, along(0, 2)),), dests)


def entry(number: int, mask: MaskRef | None = None) -> Dest:
    return Dest(Mem.OMR, addr=(number,) * 4, mask=mask)


def test_flags_of_each_cycle() -> None:
    board, flags = halves_board()
    run(board, flag_step(dst(Mem.GRF1), entry(7)))
    assert np.array_equal(board.view(Memory.MASK)[..., 7, :], flags)


@pytest.mark.parametrize("words", [False, True])
def test_a_masked_write_stores_flag_and_mask(words: bool) -> None:
    board, flags = halves_board()
    mask = board.view(Memory.MASK)[..., 3, :].copy()
    run(board, flag_step(entry(7, MaskRef(3, words))))
    assert np.array_equal(board.view(Memory.MASK)[..., 7, :], flags & mask)


def test_an_entry_masked_by_itself() -> None:
    board, flags = halves_board()
    mask = board.view(Memory.MASK)[..., 7, :].copy()
    run(board, flag_step(entry(7, MaskRef(7))))
    assert np.array_equal(board.view(Memory.MASK)[..., 7, :], flags & mask)


def test_a_pattern_mask_clears_the_other_cycles() -> None:
    board, flags = halves_board()
    run(board, flag_step(entry(7, MaskRef(16 + 0b1010))))
    stored = board.view(Memory.MASK)[..., 7, :]
    assert np.array_equal(stored[..., 0::2], flags[..., 0::2])
    assert not stored[..., 1::2].any()


def test_a_step_reads_its_masks_before_it_writes_flags() -> None:
    board, _ = halves_board()
    mask = board.view(Memory.MASK)[..., 7, :].copy()
    old, new = board.view(Memory.GRF1)[..., :4].copy(), board.view(Memory.GRF0)[..., :4].copy()
    run(board, flag_step(dst(Mem.GRF1, mask=MaskRef(7)), entry(7)))
    keep = half_mask(mask)
    assert np.array_equal(board.view(Memory.GRF1)[..., :4], (old & ~keep) | (new & keep))


def half_mask(bits: np.ndarray) -> np.ndarray:
    """Four bits -> the half words of a long word."""
    wide = bits.astype(np.uint64)
    return sum((wide >> np.uint64(3 - d) & np.uint64(1)) * np.uint64(0xFFFF << (48 - 16 * d)) for d in range(4))


def word_masks(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Four bits -> the words of a 2LW."""
    wide = bits.astype(np.uint64)
    w = [(wide >> np.uint64(3 - d) & np.uint64(1)) * np.uint64(0xFFFFFFFF) for d in range(4)]
    return w[0] << np.uint64(32) | w[1], w[2] << np.uint64(32) | w[3]


def test_an_operation_without_flags_stores_0() -> None:
    board = random_board()
    run(board, Compute(Unit.ALU, MSL, (src(Mem.GRF0),), (dst(Mem.GRF1), entry(4))))
    assert not board.view(Memory.MASK)[..., 4, :].any()


@pytest.mark.parametrize("number", [0, 16, 31, 32])
def test_read_only_entries_are_refused(number: int) -> None:
    with pytest.raises(LoweringError, match=f"entry {number} cannot be written; expected 1..15"):
        run(random_board(), flag_step(entry(number)))


def test_flush_keeps_what_the_mask_covers_and_leaves_lw1() -> None:
    board = random_board()
    bits = board.view(Memory.MASK)[..., 5, :].copy()
    value = board.view(Memory.LM0)[..., :8].copy()
    run(board, passa(src(Mem.LM0, 4), dst(Mem.GRF0, 4), Dest(Mem.T), flush=MaskRef(5)))
    result = board.view(Memory.GRF0)[..., :8]
    assert np.array_equal(result[..., 0::2], value[..., 0::2] & half_mask(bits))
    assert np.array_equal(result[..., 1::2], value[..., 1::2])
    t = board.view(Memory.T)
    assert np.array_equal(t[..., 0], result[..., 0::2]) and np.array_equal(t[..., 1], result[..., 1::2])


def test_ll_flush_covers_four_words() -> None:
    board = random_board()
    first, second = word_masks(board.view(Memory.MASK)[..., 5, :])
    value = board.view(Memory.LM0)[..., :8].copy()
    run(board, passa(src(Mem.LM0, 4), dst(Mem.GRF0, 4), flush=MaskRef(5, words=True)))
    result = board.view(Memory.GRF0)[..., :8]
    assert np.array_equal(result[..., 0::2], value[..., 0::2] & first)
    assert np.array_equal(result[..., 1::2], value[..., 1::2] & second)


@pytest.mark.parametrize("words", [False, True])
def test_pattern_flush(words: bool) -> None:
    board = random_board()
    value = board.view(Memory.LM0)[..., :8].copy()
    run(board, passa(src(Mem.LM0, 4), dst(Mem.GRF0, 4), flush=MaskRef(16 + 0b0110, words)))
    result = board.view(Memory.GRF0)[..., :8]
    value[..., [0, 6]] = 0
    if words:
        value[..., [1, 7]] = 0
    assert np.array_equal(result, value)


def test_flags_ignore_the_flush_and_forwarding_sees_it() -> None:
    board, flags = halves_board()
    bits = board.view(Memory.MASK)[..., 5, :].copy()
    value = board.view(Memory.GRF0)[..., :4].copy()
    made = flag_step(entry(7))
    flushed = Compute(made.unit, made.kernel, made.sources, made.dests, flush=MaskRef(5))
    run(board, flushed, passa(Source(Mem.ALUF), dst(Mem.GRF1)))
    assert np.array_equal(board.view(Memory.MASK)[..., 7, :], flags)
    assert np.array_equal(board.view(Memory.GRF1)[..., :4], value & half_mask(bits))


def test_flush_on_an_l1bm_load() -> None:
    board = random_board()
    bits = board.view(Memory.MASK)[..., 5, :].copy()
    one = L1Map("l1bmp", 1, 4, lambda c, w, m, p: c)
    value = board.view(Memory.L1BM)[..., :4].copy()
    run(board, PeLoad(Unit.L1BM, one, 0, (dst(Mem.GRF0),), flush=MaskRef(5)))
    assert np.array_equal(board.view(Memory.GRF0)[..., :4], value[..., None, None, :] & half_mask(bits))
