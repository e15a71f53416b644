"""Instruction packets: who shares one, a link that cannot keep up, nops that fill; cycles by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hw.model import PackingError, lower, simulate
from hw.model.packing import pack
from hw.model.stream import Fetch, Fill, Issue, Op, Run, Wait
from hw.program import Line, Mem, MvNop, Program, Region, Source
from hw.spec import ChipSpec
from tests.model.programs import ALU, d_l, nop, p_l, program, step

FINITE = {"stream.finite": 1}
MV = p_l(64)


def _spec(**numbers: float) -> ChipSpec:
    return ChipSpec.load({**FINITE, **{name.replace("__", "."): value for name, value in numbers.items()}})


def _shape(*lines: Line, **numbers: float) -> str:
    """One letter per op: F fetch, M MV, W wait, . step, n filling nop."""
    packed = pack(lower(program(*lines)), _spec(**numbers))
    assert packed.packets == sum(isinstance(op, Fetch) for op in packed.ops)
    return "".join(_letters(op) for op in packed.ops)


def _letters(op: Op) -> str:
    if isinstance(op, Run):
        return "." * op.count
    if isinstance(op, Fill):
        return "n" * op.count
    return {Fetch: "F", Issue: "M", Wait: "W"}[type(op)]


A = step(ALU)


@pytest.mark.parametrize(
    ("lines", "flat", "stride"),
    [
        ([A, A, A, A], "F..F..", "F...F."),
        ([MV, A, A], "FM..", "FM.."),
        ([A, MV, A], "F.FM.", "F.FM."),
        ([A, A, MV, MvNop(), A], "F..FMFM.", "F..FMFM."),
        ([p_l(64, tag=1), nop(wait=1), A, A], "FMW..F.", "FMW..."),
        ([A, A, p_l(64, tag=1), A, A, nop(wait=1)], "F..FM..FW.", "F..FM..W."),
        ([], "", ""),
    ],
)
def test_lines_fill_packets_in_order(lines: list[Line], flat: str, stride: str) -> None:
    assert _shape(*lines) == flat
    assert _shape(*lines, stream__auto_stride=1) == stride


def test_filling_nops_stand_before_the_next_mv_and_at_the_end() -> None:
    assert _shape(A, MV, A, A, A, stream__fill_nops=1) == "F.nFM..F.n"
    assert _shape(MV, MV, stream__fill_nops=1, stream__auto_stride=1) == "FMnnnFMnnn"


def test_packets_leave_a_fed_stream_alone() -> None:
    stream = lower(program(A, MV, A))
    packed = pack(stream, ChipSpec.load())
    assert packed.ops is stream.ops
    assert packed.packets == 0


def test_a_slow_link_sets_the_pace() -> None:
    """8 GB/s carry the 128 bytes of a packet in 12 cycles; its two steps take 8.  The first packet is there at 0."""
    timing = simulate(program(*[A] * 20), _spec(host__pcie_bandwidth=8))
    assert timing.cycles == 9 * 12 + 8
    assert timing.by_cause["host_stream"] == 9 * (12 - 8)
    assert timing.by_unit["PCIe down"] == 9 * 12
    assert timing.bytes_by_link["PCIe down"] == 9 * 128
    assert timing.by_bound == {**dict.fromkeys(timing.by_bound, 0), "compute": 80, "host_bound": 36}


def test_auto_stride_packets_feed_more_steps() -> None:
    timing = simulate(program(*[A] * 21), _spec(host__pcie_bandwidth=8, stream__auto_stride=1))
    assert timing.cycles == 21 * 4  # 12 cycles for three steps: just enough


def test_fractions_of_a_cycle_add_up() -> None:
    """10 GB/s: 9.6 cycles for a packet; packet k is complete at ceil(9.6 k)."""
    timing = simulate(program(*[A] * 22), _spec(host__pcie_bandwidth=10))
    assert timing.cycles == 96 + 8


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        # Ten packets of 48 cycles.  The first one holds the MV, the wait and a step; it stalls to 156 and ends at 164.
        (64, 9 * 48 + 8),  # the link never rests: the last packet is there at 432
        (2, 164 + 48 + 6 * 48 + 8),  # packets 1 and 2 fill the FIFO; the third is on the link from 164 on
        (1, 164 + 8 * 48 + 8),  # only packet 1 does
    ],
)
def test_packets_wait_in_the_fifo_while_the_stream_does(depth: int, expected: int) -> None:
    lines = (p_l(640, tag=1), nop(wait=1), *[A] * 19)
    spec = _spec(host__pcie_bandwidth=2, stream__fifo_packets=depth)
    assert simulate(program(*lines), spec).cycles == expected


def test_filling_nops_take_their_steps() -> None:
    spec = ChipSpec.load({"stream.fill_nops": 1})
    timing = simulate(program(A, MvNop(), A, A, A), spec)
    assert timing.by_cause["packet_nop"] == 8
    # Step and nop, then the MV slot of the second packet, three steps and the last nop.
    assert timing.cycles == 6 * 4
    assert timing.steps == 4


def test_regions_begin_with_their_packet() -> None:
    text = Program(program(*[A] * 6).lines, (Region(0, "a"), Region(2, "b")))
    timing = simulate(text, _spec(host__pcie_bandwidth=8))
    assert [(r.name, r.start, r.end) for r in timing.regions] == [("a", 0, 12), ("b", 12, 32)]


def test_runs_stay_one_span_where_nothing_interrupts_them() -> None:
    fed = simulate(program(*[A] * 20), _spec())  # 6 cycles for a packet of 8
    assert [row["count"] for row in fed.events.rows("PE stream")] == [20]
    starved = simulate(program(*[A] * 6), _spec(host__pcie_bandwidth=8))
    assert [(row["name"], row["start"]) for row in starved.events.rows("PE stream")] == [
        ("compute", 0),
        ("host_stream", 8),
        ("compute", 12),
        ("host_stream", 20),
        ("compute", 24),
    ]


def test_auto_stride_refuses_address_lists() -> None:
    listed = replace(ALU, sources=(Source(Mem.LM0, 2, (0, 2, 4, 8)),))
    strided = replace(ALU, sources=(Source(Mem.LM0, 2, (8, 6, 4, 2)), Source(Mem.ALUF, 2, (0, 0, 0, 1))))
    spec = ChipSpec.load({"stream.auto_stride": 1})
    assert simulate(program(step(strided)), spec).cycles == 4
    with pytest.raises(PackingError, match=r"line 2: .*\(0, 2, 4, 8\) have no common increment"):
        simulate(program(step(strided), step(listed)), spec)
    assert simulate(program(step(listed))).cycles == 4


def test_an_mv_of_a_late_packet_issues_late() -> None:
    timing = simulate(program(A, A, d_l(640)), _spec(host__pcie_bandwidth=1))
    assert timing.transfers[0].issue == 96
    assert timing.cycles == 96 + 200 + 40
