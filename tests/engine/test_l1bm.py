"""Every L1BM instruction against slices of the L1BM, and the turnaround register (isa.md 8)."""

from __future__ import annotations

import numpy as np
import pytest

from hw.engine import LoweringError
from hw.program import Dest, L1Map, Mem, PeLoad, PeStore, Source, Unit
from hw.state import Board, Memory
from tests.engine.build import NOP, along, dst, l1bmd, l1bmm, l1bmm4, l1bmp, passa, random_board, run, src, step

A = 64


def l1(board: Board) -> np.ndarray:
    """[n, c, b, address] before the run."""
    return board.view(Memory.L1BM).copy()


def loaded(board: Board, layout: L1Map, address: int | None = A) -> np.ndarray:
    """Run a load; [n, c, b, m, p, cycle, lw]."""
    unit = Unit.L1BM if address is not None else Unit.L1BM_TURN
    run(board, PeLoad(unit, layout, address, (dst(Mem.GRF0, 4),)))
    return board.view(Memory.GRF0)[..., :8].reshape(4, 2, 8, 16, 4, 4, 2)


def source_tile(board: Board, lws: int) -> np.ndarray:
    """[n, c, b, m, p, cycle, lw] of the operand that stores use."""
    whole = board.view(Memory.LM0)[..., : 4 * lws].reshape(4, 2, 8, 16, 4, 4, lws).copy()
    return whole


def store(board: Board, layout: L1Map, address: int | None = A, **more: object) -> None:
    unit = Unit.L1BM if address is not None else Unit.L1BM_TURN
    source = Source(Mem.LM0, 2 * layout.lws, along(0, 2 * layout.lws))
    run(board, PeStore(unit, layout, address, source, **more))  # type: ignore[arg-type]


# --- L1BM -> PE -----------------------------------------------------------------------------------------------------


def test_l1bmp_gives_every_pe_the_same() -> None:
    board = random_board()
    mem = l1(board)
    got = loaded(board, l1bmp())
    assert (got[..., 0] == mem[:, :, :, None, None, A : A + 4]).all()
    assert not got[..., 1].any()


def test_l1bmp_of_two_long_words() -> None:
    board = random_board()
    mem = l1(board)
    got = loaded(board, l1bmp(2), 3)
    assert (got[..., 0] == mem[:, :, :, None, None, 3:7]).all()
    assert (got[..., 1] == mem[:, :, :, None, None, 7:11]).all()


def test_l1bmm_distributes_over_pes() -> None:
    board = random_board()
    mem = l1(board)[..., A : A + 16].reshape(4, 2, 8, 4, 4)  # cycle, pe
    got = loaded(board, l1bmm())
    assert (got[..., 0] == mem.swapaxes(-1, -2)[:, :, :, None]).all()


def test_l1bmm_of_two_long_words_is_lw_major() -> None:
    board = random_board()
    mem = l1(board)[..., A : A + 32].reshape(4, 2, 8, 4, 2, 4)  # cycle, lw, pe
    got = loaded(board, l1bmm(2))
    assert (got == mem.transpose(0, 1, 2, 5, 3, 4)[:, :, :, None]).all()


@pytest.mark.parametrize("lws", [1, 2])
def test_l1bmm4_distributes_over_mab_quarters_too(lws: int) -> None:
    board = random_board()
    mem = l1(board)[..., A : A + 64 * lws].reshape(4, 2, 8, 4, 4, lws, 4)  # cycle, m // 4, lw, pe
    got = loaded(board, l1bmm4(lws))[..., :lws]
    for m in range(16):
        assert (got[:, :, :, m] == mem[:, :, :, :, m // 4].transpose(0, 1, 2, 5, 3, 4)).all()


@pytest.mark.parametrize("shift", [0, 1, -1, 15])
def test_l1bmd_gives_every_pe_its_own(shift: int) -> None:
    board = random_board()
    mem = l1(board)[..., A : A + 256].reshape(4, 2, 8, 4, 16, 4)  # cycle, block, pe
    got = loaded(board, l1bmd(-shift))[..., 0]
    for m in range(16):
        assert (got[:, :, :, m] == mem[:, :, :, :, (m - shift) % 16].swapaxes(-1, -2)).all()


def test_addresses_wrap_at_the_end() -> None:
    board = random_board()
    mem = l1(board)
    got = loaded(board, l1bmp(), 510)
    assert (got[..., 0] == mem[:, :, :, None, None, [510, 511, 0, 1]]).all()


def test_several_destinations_of_a_load() -> None:
    board = random_board()
    mem = l1(board)
    run(board, PeLoad(Unit.L1BM, l1bmp(), A, (dst(Mem.GRF0), Dest(Mem.T), dst(Mem.LM1, 1))))
    value = np.broadcast_to(mem[:, :, :, None, None, A : A + 4], (4, 2, 8, 16, 4, 4))
    assert np.array_equal(board.view(Memory.GRF0)[..., :4], value)
    assert np.array_equal(board.view(Memory.T)[..., 0], value) and not board.view(Memory.T)[..., 1].any()
    assert np.array_equal(board.view(Memory.LM1)[..., 0] >> np.uint64(32), value[..., 0] >> np.uint64(32))


# --- PE -> L1BM -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lws", [1, 2])
@pytest.mark.parametrize("mab", [0, 7, 15])
def test_l1bmm_of_one_mab(mab: int, lws: int) -> None:
    board = random_board()
    tile, expected = source_tile(board, lws), l1(board)
    store(board, l1bmm(lws, only=mab))
    expected[..., A : A + 16 * lws] = tile[:, :, :, mab].transpose(0, 1, 2, 4, 5, 3).reshape(4, 2, 8, -1)
    assert np.array_equal(board.view(Memory.L1BM), expected)


@pytest.mark.parametrize("lws", [1, 2])
@pytest.mark.parametrize("n", [0, 2, 3])
def test_l1bmm4_of_one_mab_in_four(n: int, lws: int) -> None:
    board = random_board()
    tile, expected = source_tile(board, lws), l1(board)
    store(board, l1bmm4(lws, only=n))
    chosen = tile[:, :, :, n::4].transpose(0, 1, 2, 5, 3, 6, 4)  # cycle, h, lw, pe
    expected[..., A : A + 64 * lws] = chosen.reshape(4, 2, 8, -1)
    assert np.array_equal(board.view(Memory.L1BM), expected)


def test_l1bmm4_of_a_mab_that_does_not_exist_writes_nothing() -> None:
    board = random_board()
    mem, turn = l1(board), board.turn.copy()
    store(board, l1bmm4(only=5))
    assert np.array_equal(board.view(Memory.L1BM), mem) and np.array_equal(board.turn, turn)


@pytest.mark.parametrize("shift", [0, 1, -1])
def test_l1bmd_concatenates(shift: int) -> None:
    board = random_board()
    tile, expected = source_tile(board, 1)[..., 0], l1(board)
    store(board, l1bmd(shift), turn_map=l1bmd())
    blocks = np.empty((4, 2, 8, 4, 16, 4), np.uint64)  # cycle, block, pe
    for m in range(16):
        blocks[:, :, :, :, (m + shift) % 16] = tile[:, :, :, m].swapaxes(-1, -2)
    expected[..., A : A + 256] = blocks.reshape(4, 2, 8, 256)
    assert np.array_equal(board.view(Memory.L1BM), expected)
    plain = tile.transpose(0, 1, 2, 5, 3, 4).reshape(64, 256)
    assert np.array_equal(board.turn, plain)


def test_down_and_up_give_the_same_back() -> None:
    board = random_board()
    mem = l1(board)
    run(
        board,
        PeLoad(Unit.L1BM, l1bmd(), 0, (dst(Mem.GRF0),)),
        PeStore(Unit.L1BM, l1bmd(), 256, src(Mem.GRF0)),
    )
    assert np.array_equal(board.view(Memory.L1BM)[..., 256:512], mem[..., :256])


def test_a_narrow_source_leaves_zeros() -> None:
    board = random_board()
    run(board, PeStore(Unit.L1BM, l1bmm(2, only=0), A, src(Mem.LM0, 2)))
    stored = board.view(Memory.L1BM)[..., A : A + 32].reshape(4, 2, 8, 4, 2, 4)
    assert not stored[..., 1, :].any() and stored[..., 0, :].any()


def test_a_latch_and_t_as_source() -> None:
    board = random_board()
    value = board.view(Memory.LM1)[..., :4].copy()
    t = board.view(Memory.T)[..., 0].copy()
    latch = step(
        PeStore(Unit.L1BM, l1bmd(), 0, Source(Mem.ALUF)),
        passa(src(Mem.GRF0), dst(Mem.GRF1)),
    )
    run(board, passa(src(Mem.LM1), Dest(Mem.NOWRITE)), latch, PeStore(Unit.L1BM, l1bmd(), 256, Source(Mem.T)))
    mem = board.view(Memory.L1BM)
    assert np.array_equal(mem[..., :256], value.transpose(0, 1, 2, 5, 3, 4).reshape(4, 2, 8, 256))
    assert np.array_equal(mem[..., 256:], t.transpose(0, 1, 2, 5, 3, 4).reshape(4, 2, 8, 256))


# --- turnaround -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [None, A])
def test_the_image_comes_back(address: int | None) -> None:
    board = random_board()
    tile, mem = source_tile(board, 2), l1(board)
    store(board, l1bmm(2, only=3), address)
    got = loaded(board, l1bmm(2), None)
    assert (got == tile[:, :, :, 3][:, :, :, None]).all()
    assert np.array_equal(board.view(Memory.L1BM), mem) == (address is None)


def test_the_image_survives_nops_and_other_steps() -> None:
    board = random_board()
    tile = source_tile(board, 1)[..., 0]
    turn_read = PeLoad(Unit.L1BM_TURN, l1bmd(), None, (dst(Mem.GRF0),))
    first = PeStore(Unit.L1BM_TURN, l1bmd(), None, src(Mem.LM0))
    held = step(PeStore(Unit.L1BM, l1bmd(), 0, src(Mem.LM1)), hold=True)
    run(board, first, NOP, held, passa(src(Mem.GRF1), dst(Mem.GRF1)), turn_read)
    assert np.array_equal(board.view(Memory.GRF0)[..., :4], tile)
    assert np.array_equal(
        board.view(Memory.L1BM)[..., :256].reshape(4, 2, 8, 4, 16, 4).transpose(0, 1, 2, 4, 5, 3),
        board.view(Memory.LM1)[..., :4],
    )


def test_a_reader_beside_a_writer_gets_the_previous_image() -> None:
    board = random_board()
    image = board.view(Memory.LM0)[..., :4].copy()
    both = step(
        PeLoad(Unit.L1BM_TURN, l1bmd(), None, (dst(Mem.GRF0),)),
        PeStore(Unit.L1BM, l1bmd(), 0, src(Mem.LM1)),
    )
    run(board, PeStore(Unit.L1BM_TURN, l1bmd(), None, src(Mem.LM0)), both)
    assert np.array_equal(board.view(Memory.GRF0)[..., :4], image)


def test_a_load_beside_a_store_reads_the_old_l1bm() -> None:
    board = random_board()
    mem = l1(board)[..., :256].reshape(4, 2, 8, 4, 16, 4)
    both = step(
        PeStore(Unit.L1BM, l1bmd(), 0, src(Mem.LM1)),
        PeLoad(Unit.L1BM_TURN, l1bmd(), 0, (dst(Mem.GRF0),)),
    )
    run(board, both)
    assert np.array_equal(board.view(Memory.GRF0)[..., :4], mem.transpose(0, 1, 2, 4, 5, 3))


@pytest.mark.parametrize("kind", ["load", "store"])
def test_two_transfers_in_one_direction_are_refused(kind: str) -> None:
    if kind == "load":
        items = (PeLoad(Unit.L1BM, l1bmp(), 0, ()), PeLoad(Unit.L1BM_TURN, l1bmm(), None, ()))
    else:
        items = tuple(PeStore(u, l1bmd(), a, src(Mem.LM0)) for u, a in ((Unit.L1BM, 0), (Unit.L1BM_TURN, None)))
    with pytest.raises(LoweringError, match=r"line 1: two items for Pe(Load|Store)"):
        run(random_board(), step(*items))
