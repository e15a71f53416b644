"""Forwarding latches, what `nop` and `noforward` leave alone, and when a write of T becomes visible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hw.engine import InvalidLatch, execute
from hw.kernels.matrix_move import MREAD, MWRITE
from hw.program import Compute, Debug, Dest, Mem, Mv, MvForm, PeLoad, Program, Source, Step, Unit
from hw.state import Board, LatchState, Memory
from tests.engine.build import NOP, dst, imm, l1bmp, mv, passa, pdm, program, random_board, run, src, step
from tests.engine.build import l2bm as l2

WHOLE = Source(Mem.LM0, 4, (0, 4, 8, 12))


def result(board: Board) -> np.ndarray:
    """The 2LWs that `keep` stored."""
    return board.view(Memory.GRF1)[..., :8].copy()


def keep(mem: Mem, unit: Unit = Unit.ALU) -> Compute:
    return passa(Source(mem), dst(Mem.GRF1, 4), unit=unit)


@pytest.mark.parametrize(("unit", "latch"), [(Unit.ALU, Mem.ALUF), (Unit.MAU, Mem.MAUF)])
def test_the_output_of_the_step_before(unit: Unit, latch: Mem) -> None:
    board = random_board()
    value = board.view(Memory.LM0)[..., :8].copy()
    run(board, passa(WHOLE, Dest(Mem.NOWRITE), unit=unit), keep(latch))
    assert np.array_equal(result(board), value)


@pytest.mark.parametrize("unit", [Unit.ALU, Unit.MAU])
def test_latches_are_read_before_units_write_them(unit: Unit) -> None:
    """Both units read both latches in one step: everybody sees the old values."""
    board = random_board()
    a, b = board.view(Memory.LM0)[..., :8].copy(), board.view(Memory.LM1)[..., :8].copy()
    fill = step(
        passa(WHOLE, Dest(Mem.NOWRITE), unit=Unit.ALU),
        passa(Source(Mem.LM1, 4, (0, 4, 8, 12)), Dest(Mem.NOWRITE), unit=Unit.MAU),
    )
    swap = step(
        passa(Source(Mem.MAUF), Dest(Mem.NOWRITE), unit=Unit.ALU),
        passa(Source(Mem.ALUF), Dest(Mem.NOWRITE), unit=Unit.MAU),
    )
    run(board, fill, swap, keep(Mem.ALUF if unit is Unit.ALU else Mem.MAUF))
    assert np.array_equal(result(board), b if unit is Unit.ALU else a)


def test_a_mask_or_a_narrow_destination_does_not_cut_the_latch() -> None:
    board = random_board()
    value = board.view(Memory.LM0)[..., :8].copy()
    run(board, passa(WHOLE, Dest(Mem.GRF0, 1, (0, 1, 2, 3))), keep(Mem.ALUF))
    assert np.array_equal(result(board), value)


def test_load_and_matrix_read_latches() -> None:
    board = random_board()
    value = board.view(Memory.L1BM)[..., :8].copy()
    run(board, PeLoad(Unit.L1BM, l1bmp(2), 0, (Dest(Mem.NOWRITE),)), keep(Mem.LBF))
    assert np.array_equal(result(board)[..., 0::2], np.broadcast_to(value[..., None, None, :4], (4, 2, 8, 16, 4, 4)))
    assert np.array_equal(result(board)[..., 1::2], np.broadcast_to(value[..., None, None, 4:], (4, 2, 8, 16, 4, 4)))
    doubles = board.view(Memory.LM0)[..., :4].copy()
    run(
        board,
        Compute(Unit.MWRITE, MWRITE[("d", 1)], (src(Mem.LM0),), (), params=(0,), plane=0),
        Compute(Unit.MREAD, MREAD[("d", 1)], (), (Dest(Mem.NOWRITE),), params=(0,), plane=0),
        keep(Mem.MREADF),
    )
    assert np.array_equal(result(board)[..., 0::2], doubles.swapaxes(-1, -2))


def test_nop_and_noforward_leave_latches_and_turnaround_alone() -> None:
    board = random_board()
    value = board.view(Memory.LM0)[..., :8].copy()
    other = step(passa(Source(Mem.LM1, 4, (0, 4, 8, 12)), dst(Mem.GRF0, 4)), hold=True)
    run(board, passa(WHOLE, Dest(Mem.NOWRITE)), NOP, other, step(hold=True), keep(Mem.ALUF))
    assert np.array_equal(result(board), value)
    assert np.array_equal(board.view(Memory.GRF0)[..., :8], board.view(Memory.LM1)[..., :8])


def test_mv_and_debug_lines_leave_latches_alone() -> None:
    board = random_board()
    value = board.view(Memory.LM0)[..., :8].copy()
    between = mv(MvForm.B_PDM, 64, pdm(0, 0), l2(0))
    run(board, passa(WHOLE, Dest(Mem.NOWRITE)), between, Debug("d get $lm0 1"), keep(Mem.ALUF))
    assert np.array_equal(result(board), value)


@pytest.mark.parametrize(
    ("before", "latch", "why"),
    [
        ((), Mem.ALUF, r"line 1: \$aluf .* has not run yet"),
        ((), Mem.MAUF, r"line 1: \$mauf .* has not run yet"),
        (
            (passa(WHOLE, dst(Mem.GRF0)), passa(WHOLE, dst(Mem.GRF0), unit=Unit.MAU)),
            Mem.ALUF,
            r"line 3: \$aluf .* idle",
        ),
        ((passa(WHOLE, dst(Mem.GRF0)), NOP), Mem.MAUF, r"line 3: \$mauf .* idle"),
        ((passa(WHOLE, dst(Mem.GRF0)), Step(), NOP), Mem.ALUF, r"line 4: \$aluf .* idle"),
    ],
)
def test_invalid_latches(before: tuple[Compute | Step, ...], latch: Mem, why: str) -> None:
    board = random_board()
    lm1 = board.lm[1].copy()
    with pytest.raises(InvalidLatch, match=why):
        run(board, *before, keep(latch), passa(Source(Mem.GRF0), dst(Mem.LM1)))
    assert np.array_equal(board.lm[1], lm1)


def test_lines_before_an_invalid_latch_have_run() -> None:
    board = random_board()
    seen: list[str] = []
    with pytest.raises(InvalidLatch):
        execute(program(imm(1, 1, dst(Mem.GRF0)), Debug("a"), keep(Mem.MAUF), Debug("b")), board, on_debug=_note(seen))
    assert seen == ["a"]
    assert (board.view(Memory.GRF0)[..., :4] == 1).all()


def _note(seen: list[str]):  # type: ignore[no-untyped-def]
    return lambda debug, board: seen.append(debug.text)


def test_latches_live_on_between_programs() -> None:
    board = random_board()
    value = board.view(Memory.LM0)[..., :8].copy()
    run(board, passa(WHOLE, Dest(Mem.NOWRITE)))
    assert board.alu_state is LatchState.VALID
    run(board, NOP)
    run(board, keep(Mem.ALUF))
    assert np.array_equal(result(board), value)
    run(board, passa(WHOLE, dst(Mem.GRF0), unit=Unit.MAU))
    with pytest.raises(InvalidLatch, match=r"line 1: .* idle"):
        run(board, keep(Mem.ALUF))


# --- T --------------------------------------------------------------------------------------------------------------


def set_t(value: int) -> Compute:
    return imm(value, value, Dest(Mem.T))


def get_t(start: int) -> Compute:
    return passa(Source(Mem.T), Dest(Mem.GRF1, 2, (start,) * 4))


def stored(board: Board, *starts: int) -> list[int]:
    view = board.view(Memory.GRF1)[3, 1, 5, 9, 2]
    return [int(view[start // 2]) for start in starts]


def test_t_shows_its_old_content_one_step_longer() -> None:
    board = random_board()
    run(board, set_t(7), NOP, set_t(8), get_t(0), get_t(2))
    assert stored(board, 0, 2) == [7, 8]
    assert (board.t == 8).all()


def test_two_writes_in_a_row() -> None:
    board = random_board()
    run(board, set_t(7), set_t(8), get_t(0), get_t(2))
    assert stored(board, 0, 2) == [7, 8]


@pytest.mark.parametrize("between", [NOP, Step(hold=True), passa(WHOLE, Dest(Mem.NOWRITE))])
def test_any_step_between_is_enough(between: Step | Compute) -> None:
    board = random_board()
    run(board, set_t(7), NOP, set_t(8), between, get_t(0))
    assert stored(board, 0) == [8]


@pytest.mark.parametrize("between", [mv(MvForm.B_PDM, 64, pdm(0, 0), l2(0)), Debug("d get $lt 4")])
def test_lines_that_are_no_steps_do_not_count(between: Mv | Debug) -> None:
    board = random_board()
    run(board, set_t(7), NOP, set_t(8), between, get_t(0), on_debug=lambda debug, board: None)
    assert stored(board, 0) == [7]


def test_the_index_is_old_as_well() -> None:
    board = random_board()
    lm = board.view(Memory.LM0)[3, 1, 5, 9, 2].tolist()
    load = passa(Source(Mem.LM0, 2, (0,) * 4, via_t=True), Dest(Mem.GRF1, 2, (0,) * 4))
    again = passa(Source(Mem.LM0, 2, (0,) * 4, via_t=True), Dest(Mem.GRF1, 2, (2,) * 4))
    run(board, set_t(4), NOP, set_t(6), load, again)
    assert stored(board, 0, 2) == [lm[2], lm[3]]
    store = passa(Source(Mem.GRF1, 2, (0,) * 4), Dest(Mem.LM0, 2, (0,) * 4, via_t=True))
    run(board, set_t(8), NOP, set_t(10), store)
    now = board.view(Memory.LM0)[3, 1, 5, 9, 2].tolist()
    assert (now[4], now[5]) == (lm[2], lm[5])


def test_t_set_from_outside_is_visible_at_once() -> None:
    """In the PE it was set in, and there in all cycles; other PEs still see the old content."""
    board = random_board()

    def poke(debug: Debug, state: Board) -> None:
        state.view(Memory.T)[3, 1, 5, 9, 2, 0, 0] = 99

    keep_all = passa(Source(Mem.T), dst(Mem.GRF1, 2))
    run(board, set_t(7), NOP, set_t(8), Debug("d set"), keep_all, on_debug=poke)
    assert board.view(Memory.GRF1)[3, 1, 5, 9, 2, :4].tolist() == [99, 8, 8, 8]
    assert board.view(Memory.GRF1)[3, 1, 5, 9, 1, :4].tolist() == [7, 7, 7, 7]


def test_cutting_a_program_anywhere_changes_nothing() -> None:
    """Latches, T and masks carry over from one program to the next."""
    lines = program(
        set_t(3),
        get_t(0),
        passa(Source(Mem.T), Dest(Mem.T), Dest(Mem.LM0, 2, (4,) * 4, via_t=True)),
        set_t(12),
        passa(Source(Mem.ALUF), dst(Mem.GRF0, 4)),
        step(passa(Source(Mem.T), dst(Mem.LM1, 4)), hold=True),
        NOP,
        passa(Source(Mem.T), dst(Mem.GRF1, 4)),
        passa(Source(Mem.ALUF), Dest(Mem.T)),
        get_t(8),
    ).lines
    whole = random_board()
    execute(Program(lines), whole)
    for cut in range(1, len(lines)):
        board = random_board()
        execute(Program(lines[:cut]), board)
        execute(Program(tuple(replace(line) for line in lines[cut:])), board)
        for name in ("lm", "grf", "t", "latch_alu"):
            assert np.array_equal(getattr(board, name), getattr(whole, name)), (cut, name)
