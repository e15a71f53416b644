"""Determinism, the memo, errors, and that time depends on nothing but what it should."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
from hw.program import Debug, MvForm, MvNop, Program
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


def test_addresses_inside_one_row_and_burst_take_no_part() -> None:
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
    packed = program(*[step(ALU)] * 3, MvNop(), *[step(ALU)] * 200)
    crossing = program(p_l(640, 0, to=1), p_l(640, 2, to=3))
    ports = program(p_l(6400, 0, to=1), mv(MvForm.P_D, 640, pdm(0), dram(0)))
    return [
        *mvs,
        *steps,
        indirect,
        packed,
        crossing,
        ports,
        program(MvNop(), MvNop(), nop()),
        program(d_l(640), d_l(640, tag=1), nop(wait=1)),
        program(d_l(64)),
        program(p_l(32000), d_l(640, tag=1, prio=3), nop(wait=1), *[step(ALU)] * 600),
    ]


NEEDS: dict[str, dict[str, float]] = {
    # Numbers that count only together with another one; packets of 2 steps need 12 cycles on a link of 8 GB/s.
    "dram.row": {"dram.row_open": 40},
    "dram.row_open": {"dram.row_open": 4},
    "mv.arbitration_unit": {"mv.arbitration_unit": 640},
    "dram.refresh": {"dram.refresh_interval": 300, "dram.refresh_cycles": 20},
    "dram.refresh_interval": {"dram.refresh": 1, "dram.refresh_interval": 300, "dram.refresh_cycles": 20},
    "dram.refresh_cycles": {"dram.refresh": 1, "dram.refresh_interval": 300, "dram.refresh_cycles": 20},
    "stream.finite": {"host.pcie_bandwidth": 8},
    "stream.auto_stride": {"stream.finite": 1, "host.pcie_bandwidth": 8},
    "stream.flat_steps": {"stream.finite": 1, "host.pcie_bandwidth": 8},
    "stream.auto_stride_steps": {"stream.finite": 1, "stream.auto_stride": 1, "host.pcie_bandwidth": 4},
    "stream.packet_bytes": {"stream.finite": 1, "host.pcie_bandwidth": 8},
    "stream.fifo_packets": {"stream.finite": 1, "host.pcie_bandwidth": 8, "stream.fifo_packets": 1},
}
"""Further numbers to set where the named one is tried."""


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
    plain = [simulate_stream(stream, spec).cycles for stream in probes]
    for name in spec.names(role):
        base, before = spec, plain
        if name in NEEDS:
            base = spec.with_overrides(NEEDS[name])
            before = [simulate_stream(stream, base).cycles for stream in probes]
        changed = _changed(base, name)
        differs = any(
            simulate_stream(stream, changed).cycles != cycles for stream, cycles in zip(probes, before, strict=True)
        )
        assert differs is (role is Role.TIME), name


def test_l1bm_geometry_counts_not_the_name() -> None:
    named = load("l1bmm", 1, 16)
    renamed = replace(named, map=l1_map("my-own", 1, 16))
    assert simulate(program(step(named))).bytes_by_link == simulate(program(step(renamed))).bytes_by_link
