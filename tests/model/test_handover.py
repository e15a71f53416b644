"""A program that starts while the MVs of another one are in flight: two programs after each other are one long one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.model import IDLE, DeadlockError, StateError, TagError, Timing, lower, send, simulate, simulate_stream
from hw.program import Program
from hw.spec import ChipSpec
from tests.model.programs import ALU, d_l, nop, p_l, program, step
from tests.model.random_programs import ENGINE_SPECS, programs


def _times(timing: Timing, first: int, shift: int) -> list[tuple[object, ...]]:
    """Every MV from number `first` on, with all its phases, counted from cycle `shift`."""
    return [
        (t.plan.mv.line, t.issue - shift, [(cause, start - shift, end - shift) for cause, start, end in t.phases])
        for t in timing.transfers[first:]
    ]


def _part(text: Program, begin: int, end: int) -> Program:
    return replace(text, lines=text.lines[begin:end], regions=())


@settings(max_examples=150, deadline=None)
@given(programs(), st.data(), st.sampled_from(list(ENGINE_SPECS)))
def test_two_programs_in_a_row_are_timed_as_one(text: Program, data: st.DataObject, chip: str) -> None:
    spec = ENGINE_SPECS[chip]
    cut = data.draw(st.integers(0, len(text.lines)))
    whole = simulate_stream(lower(_part(text, 0, len(text.lines))), spec)
    first = simulate_stream(lower(_part(text, 0, cut)), spec)
    second = simulate_stream(lower(_part(text, cut, len(text.lines))), spec, start=first.end_state)
    assert first.stream_end + second.cycles == whole.cycles
    assert _times(whole, len(first.transfers), first.stream_end) == _times(second, 0, 0)
    summed = Counter(first.by_cause)
    del summed["drain"]  # what the first program would have drained goes on under the second one
    summed.update(second.by_cause)
    assert {cause: n for cause, n in summed.items() if n} == {cause: n for cause, n in whole.by_cause.items() if n}
    assert second.end_state == whole.end_state
    log = second.events
    assert (log.start >= 0).all()
    assert all(busy <= second.cycles for busy in second.by_unit.values())


def test_an_idle_board_is_the_default_start() -> None:
    text = program(d_l(640, tag=1), nop(wait=1), *[step(ALU)] * 9)
    assert simulate(text).end_state == IDLE
    assert simulate(text, start=IDLE) is simulate(text)


def test_the_start_is_part_of_the_memo() -> None:
    before, after = program(d_l(6400)), program(d_l(640, tag=1), nop(wait=1))
    state = simulate(before).end_state
    busy = simulate(after, start=state)
    assert busy is simulate(after, start=simulate(before).end_state)
    assert busy is not simulate(after)
    # The slot comes 16 cycles after the first MV, its latency and data of 600 stand before the 240 of the second one.
    assert busy.cycles == 600 + 240 + 16 + 4
    assert busy.by_cause["wait_queue"] == 600 - 16


def test_a_tag_of_the_program_before_can_be_waited_for() -> None:
    state = simulate(program(p_l(640, tag=5), *[step(ALU)] * 10)).end_state
    waiting = simulate(program(nop(wait=5)), start=state)
    assert waiting.cycles == 100 + 40 + 16 - 40 + 4
    assert waiting.bytes_by_link["PDM g0"] == 0  # the bytes are the earlier program's
    assert waiting.by_unit["PDM g0"] == 40
    assert len(waiting.events.flows) == 1
    with pytest.raises(DeadlockError, match="no earlier MV raises this tag"):
        simulate(program(nop(wait=5), nop(wait=5)), start=state)
    with pytest.raises(TagError, match="lines an earlier program and 1 both raised it"):
        simulate(program(p_l(64, tag=5), nop(wait=5)), start=state)


def test_a_state_belongs_to_its_chip() -> None:
    state = simulate(program(d_l(6400))).end_state
    with pytest.raises(StateError, match="the engine state is that of another chip"):
        simulate(program(step(ALU)), ChipSpec.load({"mv.latency.dram": 100}), start=state)


def test_host_transfers_are_not_handed_over() -> None:
    timing = simulate(program(step(ALU)), host=[send(64)])
    with pytest.raises(StateError, match="hands over no engine state"):
        _ = timing.end_state
