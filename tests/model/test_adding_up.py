"""Everything adds up: causes, regions, busy times and bytes, for programs drawn at random."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.events import BOUND_OF, CAUSES, Cause
from hw.model import Timing, lower, simulate, simulate_stream
from hw.model.report import lower_bounds, problems, time_report
from hw.program import Line, Program, Region
from hw.spec import ChipSpec
from tests.model.programs import ALU, MAU, SINGLE_MVS, d_l, nop, p_l, program, step
from tests.model.random_programs import ALL_SPECS, PLAIN_SPECS, programs

SPECS = st.sampled_from(list(ALL_SPECS))


def assert_adds_up(timing: Timing, spec: ChipSpec) -> None:
    log = timing.events
    assert sum(timing.by_cause.values()) == timing.cycles
    assert set(timing.by_cause) == {cause.value for cause in CAUSES if cause is not Cause.NONE}
    # The stream track partitions [0, cycles).
    rows = log.on_track("PE stream")
    rows = rows[log.end[rows] > log.start[rows]]
    assert (log.start[rows][1:] == log.end[rows][:-1]).all()
    assert not len(rows) or (log.start[rows][0], log.end[rows][-1]) == (0, timing.cycles)
    # Regions partition it too, and each adds up by cause.
    assert [r.end for r in timing.regions[:-1]] == [r.start for r in timing.regions[1:]]
    if timing.regions:
        assert (timing.regions[0].start, timing.regions[-1].end) == (0, timing.cycles)
    total: Counter[str] = Counter()
    busy_in, moved_in = Counter[str](), Counter[str]()
    for region in timing.regions:
        assert sum(region.by_cause.values()) == region.cycles
        assert all(busy <= region.cycles for busy in region.by_unit.values())
        total.update(region.by_cause)
        busy_in.update(region.by_unit)
        moved_in.update(region.nbytes)
    for summed, whole in ((total, timing.by_cause), (busy_in, timing.by_unit), (moved_in, timing.bytes_by_link)):
        assert summed == Counter({name: n for name, n in whole.items() if n})
    assert problems(time_report(timing, spec)) == []
    # No unit or port is busier than the time that passed, and the log agrees with the totals.
    busy = log.busy()
    for unit, cycles in timing.by_unit.items():
        assert busy[unit] == cycles <= timing.cycles, unit
    for index, track in enumerate(log.tracks):
        if not track.name.startswith("MV g"):
            rows = np.flatnonzero(log.track == index)
            rows = rows[np.lexsort((log.end[rows], log.start[rows]))]
            assert (log.start[rows][1:] >= log.end[rows][:-1]).all(), track.name
    assert timing.lower_bound == max(lower_bounds(timing.by_cause, timing.by_unit).values(), default=0)
    assert timing.lower_bound <= timing.cycles
    # Phases of an MV are gapless, and it moves data for as long as it must.
    for transfer in timing.transfers:
        ends = [transfer.issue, *(end for _, _, end in transfer.phases)]
        assert [start for _, start, _ in transfer.phases] == ends[:-1]
        assert ends[-1] == transfer.end
        assert transfer.spent(Cause.WAIT_DRAM) + transfer.spent(Cause.WAIT_DATA) == transfer.plan.data
        if spec in PLAIN_SPECS.values():
            assert transfer.end == transfer.data + transfer.plan.data
    assert (log.end >= log.start).all()


@settings(max_examples=60, deadline=None)
@given(programs(), SPECS)
def test_random_programs_add_up(text: Program, chip: str) -> None:
    spec = ALL_SPECS[chip]
    merged = simulate_stream(lower(text), spec)
    assert_adds_up(merged, spec)
    detailed = simulate_stream(lower(text), spec, detail=True)
    assert_adds_up(detailed, spec)
    assert detailed.cycles == merged.cycles
    assert detailed.by_cause == merged.by_cause


@settings(max_examples=60, deadline=None)
@given(programs(), SPECS)
def test_runs_of_steps_as_one_event_change_nothing(text: Program, chip: str) -> None:
    spec = ALL_SPECS[chip]
    merged, stepped = (simulate_stream(lower(text, merge=merge), spec) for merge in (True, False))
    assert merged.cycles == stepped.cycles
    assert merged.by_cause == stepped.by_cause
    assert [(t.issue, t.data, t.end) for t in merged.transfers] == [(t.issue, t.data, t.end) for t in stepped.transfers]
    assert [(r.name, r.start, r.end) for r in merged.regions] == [(r.name, r.start, r.end) for r in stepped.regions]


@settings(max_examples=40, deadline=None)
@given(programs(), SPECS)
def test_logged_bytes_are_the_bytes_that_the_program_moves(text: Program, chip: str) -> None:
    spec = ALL_SPECS[chip]
    timing = simulate_stream(lower(text), spec)
    log = timing.events
    logged: Counter[str] = Counter()
    for track, nbytes in zip(log.track.tolist(), log.nbytes.tolist(), strict=True):
        logged[log.tracks[track].name] += nbytes
    for link, nbytes in timing.bytes_by_link.items():
        if link not in ("L1BM-PE", "L2BM-L1BM"):
            assert logged[link] == nbytes, link
    assert logged["L1BM"] + logged["L1BM_TURN"] == timing.bytes_by_link["L1BM-PE"]
    assert logged["L2BM"] == timing.bytes_by_link["L2BM-L1BM"]


# Long words at each kind of port for size 6400, by the index mappings of the forms: (per DRAM, per PDM, per L2BM) and
# how many ports of each kind take part.
MOVED: dict[str, tuple[tuple[int, int], tuple[int, int], tuple[int, int]]] = {
    "p_l same": ((0, 0), (6400, 1), (6400, 1)),
    "l_p cross": ((0, 0), (6400, 1), (6400, 1)),
    "d_l cross": ((6400, 1), (0, 0), (6400, 1)),
    "p_d same": ((6400, 1), (6400, 1), (0, 0)),
    "p_p same": ((0, 0), (12800, 1), (0, 0)),
    "p_p cross": ((0, 0), (6400, 2), (0, 0)),
    "parallel dram": ((6400, 4), (0, 0), (6400, 4)),
    "parallel pdm": ((0, 0), (6400, 4), (6400, 4)),
    "b_pdm": ((0, 0), (6400, 1), (6400, 8)),
    "b_dram": ((1600, 4), (0, 0), (6400, 8)),
    "b2": ((6400, 4), (0, 0), (6400, 8)),
    "b4": ((3200, 4), (0, 0), (6400, 8)),
    "r_pdm": ((0, 0), (6400, 1), (6400, 8)),
    "r_dram": ((1600, 4), (0, 0), (6400, 8)),
    "r2": ((6400, 4), (0, 0), (6400, 8)),
    "r4": ((3200, 4), (0, 0), (6400, 8)),
    "d_pdm_l": ((0, 0), (51200, 1), (6400, 8)),
    "d_l_pdm": ((0, 0), (51200, 1), (6400, 8)),
    "d_pdm_dram": ((1600, 4), (6400, 1), (0, 0)),
    "d_dram_pdm": ((1600, 4), (6400, 1), (0, 0)),
}


@pytest.mark.parametrize("name", MOVED)
def test_bytes_of_each_form(name: str) -> None:
    moved = simulate(program(SINGLE_MVS[name][0])).bytes_by_link
    for kind, (long_words, ports) in zip(("DRAM", "PDM", "L2BM g"), MOVED[name], strict=True):
        found = [nbytes for link, nbytes in moved.items() if link.startswith(kind) and nbytes]
        assert found == [8 * long_words] * ports


def test_every_cause_has_a_bound() -> None:
    assert set(BOUND_OF) == set(CAUSES) - {Cause.NONE}


def test_regions_start_with_the_issue_of_their_first_line() -> None:
    lines: list[Line] = [step(ALU), p_l(640, tag=1), step(ALU), nop(wait=1), step(MAU), d_l(64)]
    regions = (Region(2, "a"), Region(3, "b"), Region(5, "c"))
    timing = simulate(program(*lines, regions=regions))
    waited = 4 + 100 + 40 + 16
    assert [(r.name, r.start, r.end) for r in timing.regions] == [
        ("", 0, 4),
        ("a", 4, waited),  # the stall at the wait comes before the issue of b's first line
        ("b", waited, waited + 8),
        ("c", waited + 8, waited + 8 + 204),
    ]
    assert timing.regions[1].by_cause == {"compute": 4, "wait_latency": 96, "wait_data": 40, "wait_notice": 16}
    assert timing.regions[3].by_cause == {"drain": 204}


def test_a_wait_is_explained_by_what_its_mv_did() -> None:
    timing = simulate(program(p_l(6400, bank=1), d_l(640), d_l(640, bank=1, tag=1), nop(wait=1)))
    queue = 200 + 40 - 16  # the first DRAM transfer, from the issue of the second on
    port = 100 + 400 - (16 + 200 + 40 + 200)  # the PDM transfer still holds bank 1
    assert {c: n for c, n in timing.by_cause.items() if n} == {
        "mv_issue": 32,
        "wait_queue": queue,
        "wait_latency": 200,
        "wait_port": port,
        "wait_dram": 40,
        "wait_notice": 16,
        "wait_step": 4,
    }
