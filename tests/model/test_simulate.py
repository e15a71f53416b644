"""Determinism, the memo, errors, and that time depends on nothing but what it should."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from hw.kernels.abi import Kernel, Kind
from hw.model import (
    DeadlockError,
    ModelError,
    PlaceError,
    TagError,
    TransferError,
    lower,
    simulate,
    simulate_stream,
)
from hw.program import Compute, Debug, Dest, Line, Mem, MvForm, MvNop, Program, Source, Unit
from hw.spec import ChipSpec, Role, default_spec
from tests.model.programs import (
    ALU,
    SINGLE_MVS,
    TRANSFER_ITEMS,
    d_l,
    dram,
    l1_map,
    l2bm,
    load,
    mv,
    nop,
    p_l,
    pdm,
    program,
    step,
)


def test_the_same_program_and_chip_are_simulated_once() -> None:
    text = program(d_l(640, tag=1), nop(wait=1))
    same_again = program(d_l(640, tag=1), nop(wait=1))
    first = simulate(text)
    assert simulate(text) is first
    assert simulate(same_again) is first  # by content, not by object
    assert simulate(text, ChipSpec.load({"mv.latency.dram": 200})) is first
    other = simulate(text, ChipSpec.load({"mv.latency.dram": 201}))
    assert other.cycles > first.cycles
    assert simulate(text, detail=True) is not first


def test_a_simulation_without_memo_gives_equal_results() -> None:
    text = program(*(line for line, *_ in SINGLE_MVS.values()), step(ALU))
    results = [simulate_stream(lower(text), default_spec()) for _ in range(2)]
    assert results[0].as_dict() == results[1].as_dict()
    assert results[0].events.rows() == results[1].events.rows()


def test_values_take_no_part_in_time() -> None:
    """Other kernels, operands, immediates, addresses and initial state of memories: the same stream."""
    other = Kernel("another", Kind.LANES, lambda *_: None, lambda *_: None)
    plain = Compute(Unit.ALU, ALU.kernel, (Source(Mem.LM0),), (Dest(Mem.LM1),), text="iadd a")
    busy = Compute(
        Unit.ALU, other, (Source(Mem.IMM, imm=(1, 2)),), (Dest(Mem.GRF0, addr=(8, 9, 10, 11)),), text="iadd a"
    )
    assert lower(program(step(plain))).digest == lower(program(step(busy))).digest
    near, far = p_l(640), replace(p_l(640), src=replace(pdm(0), addr=4096))
    assert simulate(program(near)).cycles == simulate(program(far)).cycles


def test_debug_lines_take_no_time() -> None:
    assert simulate(program(step(ALU), Debug("d getf $m0 1"), step(ALU))).cycles == 8


def test_the_empty_program() -> None:
    timing = simulate(Program(()))
    assert (timing.cycles, timing.regions, len(timing.events)) == (0, [], 0)


def test_waiting_for_a_tag_that_nobody_raises_names_the_line() -> None:
    with pytest.raises(DeadlockError, match="line 2: wait i03: no earlier MV") as caught:
        simulate(program(step(ALU), nop(wait=3), d_l(64, tag=3)))
    assert caught.value.line == 2
    with pytest.raises(DeadlockError, match="line 3"):  # a wait consumes the completion
        simulate(program(p_l(64, tag=1), nop(wait=1), nop(wait=1)))


def test_a_tag_raised_twice_may_not_be_used() -> None:
    twice = [p_l(64, tag=1), p_l(64, tag=1)]
    assert simulate(program(*twice)).cycles > 0  # harmless as long as nobody asks
    with pytest.raises(TagError, match="line 3: wait i01: lines 1 and 2"):
        simulate(program(*twice, nop(wait=1)))
    with pytest.raises(TagError, match="line 3: tag i01"):
        simulate(program(*twice, p_l(64, tag=1)))


def test_places_that_the_chip_lacks_are_refused() -> None:
    with pytest.raises(PlaceError, match=r"line 1: .*no group 4"):
        simulate(program(d_l(64, 4)))
    with pytest.raises(PlaceError, match="no L2BM bank 2"):
        simulate(program(d_l(64, 0, 2)))
    with pytest.raises(PlaceError, match="needs a group"):
        simulate(program(mv(MvForm.P_L, 64, pdm(None), l2bm(0, 0))))
    assert simulate(program(d_l(64, 7)), ChipSpec.load({"topology.groups": 8})).cycles == 204


def test_unknown_transfer_geometry_is_refused() -> None:
    with pytest.raises(TransferError, match="line 1: 'l1bmx' spans 12 LW"):
        simulate(program(step(load("l1bmx", 1, 12))))
    assert issubclass(TransferError, ModelError)


def _probes() -> list[Program]:
    """Programs that together feel every number that may change time."""
    mvs = [program(line) for line, *_ in SINGLE_MVS.values()]
    steps = [program(step(item)) for item in TRANSFER_ITEMS]
    indirect = program(mv(MvForm.D_L, 640, dram(0, indirect=True), l2bm(0, 0)))
    return [*mvs, *steps, indirect, program(MvNop(), MvNop(), nop()), program(d_l(640), d_l(640, tag=1), nop(wait=1))]


def _changed(spec: ChipSpec, name: str) -> ChipSpec:
    value = spec[name]
    if spec.quantity(name).unit == "flag":
        return spec.with_overrides({name: 1 - value})
    slower = ("LW/cycle", "GB/s", "FMA/cycle")
    return spec.with_overrides({name: value / 8 if spec.quantity(name).unit in slower else value * 8})


@pytest.mark.parametrize("role", [Role.TIME, Role.PEAK, Role.HOST, Role.REFERENCE])
def test_numbers_change_time_exactly_where_their_role_says_so(role: Role) -> None:
    spec = default_spec()
    probes = [lower(text) for text in _probes()]
    before = [simulate_stream(stream, spec).cycles for stream in probes]
    for name in spec.names(role):
        after = [simulate_stream(stream, _changed(spec, name)).cycles for stream in probes]
        assert (after != before) is (role is Role.TIME), name


def test_l1bm_geometry_counts_not_the_name() -> None:
    named = load("l1bmm", 1, 16)
    renamed = replace(named, map=l1_map("my-own", 1, 16))
    assert simulate(program(step(named))).bytes_by_link == simulate(program(step(renamed))).bytes_by_link


@pytest.mark.slow
def test_a_million_cycles_per_second() -> None:
    lines: list[Line] = []
    for number in range(20000):
        lines += [step(ALU, load()), step(ALU), nop(), step(load())]
        if number % 100 == 0:
            lines += [d_l(2048, number % 4, tag=1), nop(wait=1)]
    text = program(*lines)
    start = time.perf_counter()
    cycles = simulate_stream(lower(text), default_spec()).cycles
    assert cycles / (time.perf_counter() - start) > 1e6
