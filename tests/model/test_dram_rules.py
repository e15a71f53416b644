"""DRAM beyond a plain rate: bursts, rows, DAR and refresh, by hand and against a cycle-by-cycle count."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw.model import simulate
from hw.model.dram import DramRules, Refresh
from hw.program import Mv, MvForm, MvPlace, Space
from hw.spec import ChipSpec
from tests.model.programs import d_l, dram, l2bm, mv, nop, p_l, program

LATENCY = 200
SLOW = {"dram.bandwidth": 6}  # 1 LW per cycle at 750 MHz, so that DRAM bounds everything


def _at(line: Mv, address: int) -> Mv:
    return replace(line, src=replace(line.src, addr=address))


def _cycles(line: Mv, **numbers: float) -> int:
    spec = ChipSpec.load({**SLOW, **{name.replace("__", "."): value for name, value in numbers.items()}})
    return simulate(program(line), spec).cycles - LATENCY


@pytest.mark.parametrize(
    ("address", "size", "expected"),
    [(0, 640, 640), (16, 640, 640 + 64), (48, 64, 128), (0, 16 * 65, 17 * 64), (64, 64, 64)],
)
def test_a_transfer_takes_whole_aligned_bursts(address: int, size: int, expected: int) -> None:
    assert _cycles(_at(d_l(size), address), dram__burst=64) == expected


@pytest.mark.parametrize(("address", "rows"), [(0, 3), (240, 4), (16, 4), (256, 3)])
def test_every_row_that_is_touched_is_opened(address: int, rows: int) -> None:
    assert _cycles(_at(d_l(768), address), dram__row_open=11) == 768 + 11 * rows


def test_rows_count_per_dram_of_a_broadcast() -> None:
    """`mvb` of 4096 LW reads 1024 LW, four rows, of each DRAM at the same time."""
    line = mv(MvForm.B_DRAM, 4096, dram(), l2bm())
    assert _cycles(line, dram__row_open=25) == 1024 + 4 * 25


def test_opening_rows_is_hidden_where_the_path_is_slower() -> None:
    spec = ChipSpec.load({"dram.row_open": 4})  # 64/3 LW per cycle: 30 cycles and 3 rows, below 640 / 16
    assert simulate(program(d_l(640)), spec).cycles == LATENCY + 40 + 2  # 30 + 12 is above it


@pytest.mark.parametrize(
    ("consecutive", "long_words", "rows", "expected"),
    [(None, 640, 3, 640), (1, 640, 40, 40 * 32), (2, 640, 20, 20 * 32), (4, 96, 2, 64 + 32), (1, 16, 1, 32)],
)
def test_runs_through_dar_are_bursts_and_rows_of_their_own(
    consecutive: int | None, long_words: int, rows: int, expected: int
) -> None:
    """Bursts of 32 LW: a run of one block of 16 LW wastes half of its burst."""
    rules = DramRules(ChipSpec.load({**SLOW, "dram.burst": 32, "dram.row_open": 3}))
    cost = rules.indirect(long_words, consecutive)
    assert (cost.rows, cost.bursts * 32) == (rows, expected)
    assert cost.cycles == expected + 3 * rows


def test_an_indirect_mv_feels_its_runs_and_its_factor() -> None:
    line = replace(mv(MvForm.D_L, 640, dram(0, indirect=True), l2bm(0, 0)), nd=2)
    assert _cycles(line, dram__burst=64, dram__indirect_factor=1.5) == 20 * 64 * 3 // 2
    plain = ChipSpec.load({"dram.indirect_factor": 2.5})
    assert simulate(program(line), plain).cycles == LATENCY + 100


def test_dar_entries_take_no_part_in_time() -> None:
    entries = [replace(d_l(640), src=MvPlace(Space.DRAM, entry, 0, indirect=True)) for entry in (0, 900)]
    first, second = (_cycles(line, dram__burst=64, dram__row_open=7) for line in entries)
    assert first == second


# --- refresh ---


def _count(first: int, interval: int, length: int, start: int, work: int) -> int:
    """End of `work` cycles, one cycle at a time."""
    cycle = start
    while work:
        since = cycle - first
        work -= since < 0 or since % interval >= length
        cycle += 1
    return cycle


@given(st.integers(-20, 60), st.integers(2, 50), st.data(), st.integers(-10, 200), st.integers(1, 200))
def test_refresh_pieces_agree_with_a_count_of_cycles(
    first: int, interval: int, data: st.DataObject, start: int, work: int
) -> None:
    length = data.draw(st.integers(0, interval - 1))
    refresh = Refresh(max(first, -length), interval, length)
    pieces = list(refresh.pieces(start, work))
    assert pieces[0][0] == start
    assert [end for _, end, _ in pieces[:-1]] == [begin for begin, _, _ in pieces[1:]]
    assert pieces[-1][1] == _count(refresh.first, interval, length, start, work)
    assert sum(end - begin for begin, end, pausing in pieces if not pausing) == work
    upcoming = refresh.next_after(start)
    assert upcoming + length > start
    assert upcoming == refresh.first or upcoming - interval + length <= start


def test_a_transfer_pauses_while_dram_refreshes() -> None:
    spec = ChipSpec.load({"dram.refresh": True, "dram.refresh_interval": 300, "dram.refresh_cycles": 50})
    timing = simulate(program(d_l(6400, tag=1), nop(wait=1)), spec)
    # 200 latency, data from 200 to 300, pause to 350, data to 600, pause to 650, the last 50 cycles, notice.
    assert timing.transfers[0].end == 200 + 400 + 50 + 50
    assert timing.cycles == 700 + 16 + 4
    assert timing.by_cause["wait_refresh"] == 100
    assert timing.by_cause["wait_dram"] == 400
    assert timing.by_unit["DRAM g0"] == 500
    assert simulate(program(p_l(6400)), spec).cycles == 100 + 400  # PDM does not care


def test_refresh_is_off_unless_asked_for() -> None:
    spec = ChipSpec.load({"dram.refresh_interval": 300, "dram.refresh_cycles": 50})
    assert simulate(program(d_l(6400)), spec).cycles == LATENCY + 400


def test_data_cycles_stay_exact_fractions() -> None:
    assert DramRules(ChipSpec.load()).contiguous(0, 16).cycles == Fraction(3, 4)
