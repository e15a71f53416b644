"""Host transfers around a program: link and PDM port, tags, staging of whole calls; cycles by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.model import DeadlockError, HostError, Image, ModelError, Timing, receive, send, simulate, staged
from hw.program import Line, Mv, MvForm, Program, Region
from hw.spec import ChipSpec, Role, default_spec
from tests.model.programs import ALU, l2bm, mv, nop, p_l, pdm, program, step
from tests.model.random_programs import ALL_SPECS, programs

LATENCY, NOTICE = 750, 16
CHUNK = 4096 * 3 // 64  # cycles of 4096 bytes at 64/3 bytes per cycle
AT_PDM = 4096 // 8 // 16
A = step(ALU)


def _nonzero(timing: Timing) -> dict[str, int]:
    assert sum(timing.by_cause.values()) == timing.cycles
    return {cause: cycles for cause, cycles in timing.by_cause.items() if cycles}


def test_a_program_waits_for_a_send_without_tag() -> None:
    timing = simulate(program(A, A), host=[send(2 * 4096)])
    assert _nonzero(timing) == {"host_send": LATENCY + 2 * CHUNK + AT_PDM, "compute": 8}
    assert timing.by_unit["PCIe down"] == 2 * CHUNK
    assert timing.by_unit["PDM g0"] == 2 * AT_PDM
    assert timing.bytes_by_link["PCIe down"] == timing.bytes_by_link["PDM g0"] == 8192
    assert timing.stream_end == timing.cycles


def test_a_receive_without_tag_waits_for_program_and_mvs() -> None:
    timing = simulate(program(A, mv(MvForm.L_P, 640, l2bm(0, 0), pdm(0))), host=[receive(4096)])
    assert _nonzero(timing) == {"compute": 4, "drain": 100 + 40, "host_receive": LATENCY + AT_PDM + CHUNK}


def test_a_wait_feels_a_tagged_send() -> None:
    timing = simulate(program(A, nop(wait=2), A), host=[send(4096, tag=2)])
    stalled = LATENCY + CHUNK + AT_PDM + NOTICE - 4
    assert _nonzero(timing) == {"compute": 8, "wait_host": stalled - NOTICE, "wait_notice": NOTICE + 2, "wait_step": 4}
    assert stalled % 4 == 2  # the stream idles in whole steps
    (flow,) = timing.events.flows
    rows = timing.events.rows()
    assert (rows[flow.source]["track"], rows[flow.target]["name"]) == ("DMA", "wait_step")


def test_a_receive_can_start_when_an_mv_has_ended() -> None:
    lines = (mv(MvForm.L_P, 640, l2bm(0, 0), pdm(0), tag=9), *[A] * 500)
    timing = simulate(program(*lines), host=[receive(64, after=9)])
    (host,) = timing.host_transfers
    assert host.start == 100 + 40 + NOTICE
    assert host.end == host.start + LATENCY + 1 + 3
    assert timing.cycles == 2000


def test_transfers_of_one_direction_queue_up_and_directions_overlap() -> None:
    lines = (mv(MvForm.L_P, 64, l2bm(0, 0), pdm(0), tag=1), *[A] * 2000)
    host = [send(4096, tag=3), send(4096, tag=4), receive(8192, after=1)]
    one, two, back = simulate(program(*lines), host=host).host_transfers
    assert (one.start, two.start) == (0, one.end)
    assert back.start == 100 + 4 + NOTICE < one.end
    assert back.end == back.start + LATENCY + AT_PDM + 2 * CHUNK


def test_the_pdm_port_is_shared_with_mvs() -> None:
    """The MV holds PDM g0 from 100 to 2100; the piece on the way since 942 has to wait, the next ones follow it."""
    timing = simulate(program(p_l(32000)), host=[send(2 * 4096, tag=1)])
    (host,) = timing.host_transfers
    assert host.end == 2100 + 2 * AT_PDM
    assert timing.cycles == host.end
    assert timing.by_cause["host_send"] == host.end - 2100  # nobody waited for it, so it trails behind the program


def test_instructions_and_sends_share_the_link() -> None:
    alone = ChipSpec.load({"stream.finite": 1, "host.pcie_bandwidth": 8, "stream.fifo_packets": 2})
    text = program(*[A] * 400)
    quiet, busy = simulate(text, alone), simulate(text, alone, host=[send(16384, tag=1)])
    assert busy.cycles > quiet.cycles
    assert busy.by_unit["PCIe down"] == quiet.by_unit["PCIe down"] + 4 * 2 * CHUNK
    labels = {str(row["name"]) for row in busy.events.rows("PCIe down")}
    assert labels == {"instructions", "send"}


def test_what_never_comes_is_a_deadlock() -> None:
    with pytest.raises(DeadlockError, match="host result never starts: no MV raises tag i07"):
        simulate(program(A), host=[receive(64, after=7, label="result")])
    with pytest.raises(DeadlockError, match="line 2: the stream waits for a host transfer"):
        simulate(program(A, nop(wait=1)), host=[send(64, tag=1, after=7)])
    with pytest.raises(DeadlockError, match="host first never starts"):
        simulate(program(A), host=[send(64, after=7, label="first"), send(64, tag=2)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: send(12), "host send of 12 bytes: expected a multiple of 8"),
        (lambda: receive(-8), "host receive of -8 bytes"),
        (lambda: receive(8, tag=3), "host receive with tag i03 and without `after`"),
    ],
)
def test_impossible_transfers_are_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(HostError, match=message):
        make()


def test_host_numbers_change_host_transfers() -> None:
    spec = default_spec()
    host = [send(8192 + 8), receive(8192)]
    before = simulate(program(A), spec, host=host).cycles
    for name in spec.names(Role.HOST):
        changed = spec.with_overrides({name: spec[name] * 2})
        assert simulate(program(A), changed, host=host).cycles != before, name


@settings(max_examples=40, deadline=None)
@given(programs(), st.sampled_from(list(ALL_SPECS)), st.integers(0, 3), st.integers(0, 3))
def test_everything_adds_up_around_random_programs(text: Program, chip: str, sends: int, receives: int) -> None:
    host = [*[send(8 * 1000 * n + 64) for n in range(sends)], *[receive(8 * 700 * n) for n in range(receives)]]
    timing = simulate(text, ALL_SPECS[chip], host=host)
    assert sum(timing.by_cause.values()) == timing.cycles
    assert timing.bytes_by_link["PCIe up"] == sum(t.nbytes for t in host[sends:])
    down = sum(t.nbytes for t in host[:sends])
    packets = sum(int(r["bytes"]) for r in timing.events.rows("PCIe down") if r["name"] == "instructions")
    assert timing.bytes_by_link["PCIe down"] == down + packets
    busy = timing.events.busy()
    assert all(busy[unit] == cycles <= timing.cycles for unit, cycles in timing.by_unit.items())
    logged = sum(int(row["bytes"]) for row in timing.events.rows("PDM g0"))
    assert logged == timing.bytes_by_link["PDM g0"]


# --- whole calls ---


def test_a_call_stages_its_images_through_pdm() -> None:
    call = staged(program(A, A, A), default_spec(), [Image("x", 1024, 160)], [Image("y", 0, 16)])
    inward, outward = [line for line in call.program.lines if isinstance(line, Mv)]
    assert (inward.form, inward.size, inward.src.addr, inward.dst.addr) == (MvForm.D_PDM_DRAM, 640, 0, 1024)
    assert (outward.form, outward.size, outward.src.addr, outward.dst.addr) == (MvForm.D_DRAM_PDM, 64, 0, 0)
    timing = simulate(call.program, host=call.host)
    sent, fetched = timing.host_transfers
    assert sent.end == LATENCY + 240 + 8  # 5120 bytes on the link, the last 1024 of them 8 cycles through the port
    # What comes before the first line, a wait for the host, belongs to no region.
    assert [(r.name, list(r.by_cause)) for r in timing.regions[:1]] == [("", ["wait_notice", "wait_host"])]
    assert [r.name for r in timing.regions[1:]] == ["host inputs", "program", "host outputs"]
    assert timing.regions[2].by_cause == {"compute": 12}
    assert fetched.start == timing.transfers[1].end + NOTICE
    assert timing.cycles == fetched.end == fetched.start + LATENCY + 4 + 24
    assert timing.bytes_by_link["PCIe down"] == 5120
    assert timing.bytes_by_link["PCIe up"] == 512


def test_large_images_go_in_pieces_round_the_pdm() -> None:
    spec = ChipSpec.load({"capacity.pdm": 70000})  # room for two pieces
    lines: list[Line] = [p_l(640, tag=1), nop(wait=1)]
    text = Program(program(*lines).lines, (Region(0, "layer"),))
    call = staged(text, spec, [Image("x", 0, 30000)], [Image("y", 50000, 30000)])
    moved = [line for line in call.program.lines if isinstance(line, Mv) and line.form is not MvForm.P_L]
    assert [line.size for line in moved] == [32704, 32704, 32704, 21888] * 2
    assert [line.src.addr for line in moved[:4]] == [0, 32704, 0, 32704]
    assert [line.dst.addr for line in moved[:4]] == [0, 8176, 16352, 24528]
    timing = simulate(call.program, spec, host=call.host)
    assert timing.bytes_by_link["PCIe down"] == timing.bytes_by_link["PCIe up"] == 4 * 30000 * 8
    assert [r.name for r in timing.regions] == ["", "host inputs", "layer", "host outputs"]
    sends, receives = timing.host_transfers[:4], timing.host_transfers[4:]
    moves = [t for t in timing.transfers if t.plan.mv.form is not MvForm.P_L]
    for number in (2, 3):  # a slot is used again when it is empty
        assert sends[number].start >= moves[number - 2].end
        assert moves[4 + number].issue >= receives[number - 2].end


def test_staging_needs_free_tags_and_room() -> None:
    used = program(*[p_l(64, tag=tag) for tag in range(1, 200)])
    with pytest.raises(HostError, match="uses 199 tags: expected at least 64 of 255"):
        staged(used, default_spec(), [], [])
    with pytest.raises(HostError, match="staging needs at least 32704 LW"):
        staged(program(A), ChipSpec.load({"capacity.pdm": 4096}), [], [])
    assert issubclass(HostError, ModelError)
