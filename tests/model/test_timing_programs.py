"""Programs whose cycles follow by hand from the numbers of the chip description, checked exactly."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from hw.model import simulate
from hw.program import MvForm, MvNop, Program
from hw.spec import ChipSpec
from tests.model.programs import (
    ALU,
    MAU,
    SINGLE_MVS,
    d_l,
    dram,
    l2bm,
    load,
    mv,
    nop,
    p_d,
    p_l,
    pdm,
    program,
    step,
    store,
)

SPECS = {
    "default": ChipSpec.load(),
    "other": ChipSpec.load(
        {
            "mv.latency.dram": 333,
            "mv.latency.pdm": 77,
            "mv.latency.parallel": 12,
            "mv.notice_latency": 5,
            "mv.issue_interval": 24,
            "mv.rate.d_l.same": 10,
            "mv.rate.p_l.same": 12.5,
            "mv.rate.p_l.cross": 3,
            "mv.rate.b4": 7,
        }
    ),
    "pipelined": ChipSpec.load({"mv.pipelined_latency": True}),
}


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest) -> ChipSpec:
    return SPECS[request.param]


class Numbers:
    """The named numbers of a chip, short."""

    def __init__(self, spec: ChipSpec) -> None:
        self.step = spec.integer("step.cycles")
        self.dram = spec.integer("mv.latency.dram")
        self.pdm = spec.integer("mv.latency.pdm")
        self.notice = spec.integer("mv.notice_latency")
        self.slot = spec.integer("mv.issue_interval")
        self.pipelined = bool(spec["mv.pipelined_latency"])
        self._spec = spec

    def data(self, long_words: int, form: str) -> int:
        return math.ceil(long_words / self._spec.exact(f"mv.rate.{form}"))

    def whole_steps(self, cycles: int) -> int:
        """Stall of a stream that waits `cycles`: it idles in whole steps."""
        return -(-max(cycles, 0) // self.step) * self.step


@pytest.mark.parametrize("name", SINGLE_MVS)
def test_one_mv_alone(name: str, spec: ChipSpec) -> None:
    line, rate, latency, counted = SINGLE_MVS[name]
    expected = spec.integer(f"mv.latency.{latency}") + math.ceil(counted / spec.exact(rate))
    assert simulate(program(line), spec).cycles == expected


Expected = Callable[[Numbers], int]

PROGRAMS: dict[str, tuple[Program, Expected]] = {
    "nothing": (program(), lambda n: 0),
    "steps": (program(*[step(ALU)] * 5, nop(), step(MAU, ALU)), lambda n: 7 * n.step),
    "transfers at the documented rates": (program(step(load()), step(store()), nop()), lambda n: 3 * n.step),
    "mvnop takes a slot and no time": (program(MvNop(), step(ALU)), lambda n: n.step),
    "two mvnops": (program(MvNop(), MvNop(), step(ALU)), lambda n: n.slot + n.step),
    "mvnop slot hidden behind steps": (
        program(MvNop(), *[step(ALU)] * 6, MvNop(), step(ALU)),
        lambda n: 7 * n.step,
    ),
    "wait right after the MV": (
        program(d_l(6400, tag=1), nop(wait=1)),
        lambda n: n.whole_steps(n.dram + n.data(6400, "d_l.same") + n.notice) + n.step,
    ),
    "work hides a part of the MV": (
        program(d_l(6400, tag=1), *[step(ALU)] * 10, nop(wait=1), step(ALU)),
        lambda n: 10 * n.step + n.whole_steps(n.dram + n.data(6400, "d_l.same") + n.notice - 10 * n.step) + 2 * n.step,
    ),
    "work hides the MV altogether": (
        program(p_l(64, tag=1), *[step(ALU)] * 50, nop(wait=1), step(ALU)),
        lambda n: 52 * n.step,
    ),
    "MV outlives the stream": (
        program(step(ALU), d_l(6400), step(ALU)),
        lambda n: n.step + n.dram + n.data(6400, "d_l.same"),
    ),
    "two MVs of one queue": (
        program(d_l(6400), d_l(640, bank=1)),
        lambda n: (
            n.dram + n.data(6400, "d_l.same") + n.data(640, "d_l.same")
            if n.pipelined
            else 2 * n.dram + n.data(6400, "d_l.same") + n.data(640, "d_l.same")
        ),
    ),
    "queues of two groups overlap": (
        program(d_l(6400, 0), d_l(6400, 1)),
        lambda n: n.slot + n.dram + n.data(6400, "d_l.same"),
    ),
    "four groups overlap, slots apart": (
        program(*[d_l(3200, group) for group in range(4)]),
        lambda n: 3 * n.slot + n.dram + n.data(3200, "d_l.same"),
    ),
    "two pairs share one L2BM": (
        program(p_l(6400), d_l(640)),
        # The PDM transfer has the smaller latency and holds the L2BM; the DRAM one follows when both are over.
        lambda n: max(n.pdm + n.data(6400, "p_l.same"), n.slot + n.dram) + n.data(640, "d_l.same"),
    ),
    "two pairs of one group, different banks": (
        program(p_l(6400, bank=0), d_l(640, bank=1)),
        lambda n: max(n.pdm + n.data(6400, "p_l.same"), n.slot + n.dram + n.data(640, "d_l.same")),
    ),
    "two crossing transfers share the ring": (
        program(p_l(640, 0, to=1), p_l(640, 2, to=3)),
        lambda n: n.pdm + max(n.slot, n.data(640, "p_l.cross")) + n.data(640, "p_l.cross"),
    ),
    "a broadcast holds every DRAM": (
        program(mv(MvForm.B4, 6400, dram(), l2bm()), p_d(640, 3)),
        lambda n: max(n.dram + n.data(6400, "b4"), n.slot + n.dram) + n.data(640, "p_d.same"),
    ),
    "tag used again after its wait": (
        program(p_l(640, tag=7), nop(wait=7), p_l(640, tag=7), nop(wait=7)),
        lambda n: 2 * (n.whole_steps(n.pdm + n.data(640, "p_l.same") + n.notice) + n.step),
    ),
    "wait for the last of an untagged series": (
        program(p_l(640), p_l(640), p_l(640, tag=1), nop(wait=1)),
        lambda n: (
            2 * n.slot
            + n.whole_steps((n.pdm if n.pipelined else 3 * n.pdm) + 3 * n.data(640, "p_l.same") + n.notice - 2 * n.slot)
            + n.step
        ),
    ),
    "the MV after a wait is held too": (
        program(p_l(640, tag=1), nop(wait=1), d_l(640)),
        lambda n: n.whole_steps(n.pdm + n.data(640, "p_l.same") + n.notice) + n.step + n.dram + n.data(640, "d_l.same"),
    ),
    "the step with the wait runs after it": (
        program(p_l(640, tag=1), step(ALU, wait=1), step(ALU)),
        lambda n: n.whole_steps(n.pdm + n.data(640, "p_l.same") + n.notice) + 2 * n.step,
    ),
    "waits in another order than completion": (
        program(d_l(640, tag=1), p_l(640, bank=1, tag=2), nop(wait=1), nop(wait=2)),
        lambda n: n.slot + n.whole_steps(n.dram + n.data(640, "d_l.same") + n.notice - n.slot) + 2 * n.step,
    ),
    "empty transfer": (program(p_l(0)), lambda n: n.pdm),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, spec: ChipSpec) -> None:
    text, expected = PROGRAMS[name]
    assert simulate(text, spec).cycles == expected(Numbers(spec))


def test_larger_priority_goes_first() -> None:
    """Three queues meet at the MV port of one L2BM while a first transfer holds it."""
    spec = SPECS["default"]
    n = Numbers(spec)
    holder = p_l(6400, 0)
    low = mv(MvForm.D_L, 640, dram(1), l2bm(0, 0), prio=0)
    high = mv(MvForm.D_L, 640, dram(2), l2bm(0, 0), prio=3)
    times = simulate(program(holder, low, high), spec).transfers
    free = n.pdm + n.data(6400, "p_l.same")
    assert [t.data for t in times] == [n.pdm, free + n.data(640, "d_l.cross"), free]
    equal = simulate(program(holder, low, mv(MvForm.D_L, 640, dram(2), l2bm(0, 0), prio=0)), spec).transfers
    assert [t.data for t in equal] == [n.pdm, free, free + n.data(640, "d_l.cross")]


def test_requests_of_one_cycle_are_ranked_together() -> None:
    """Priority counts also when the lower one asks first within the same cycle."""
    spec = ChipSpec.load({"mv.issue_interval": 0})
    low, high = p_l(640, 0, to=3, prio=1), mv(MvForm.L_P, 640, l2bm(1, 0), pdm(2), prio=2)
    first, second = simulate(program(low, high), spec).transfers
    assert (second.data, first.data) == (100, 100 + 640 // 8)


def test_nobody_overtakes_on_a_port_that_a_higher_one_waits_for() -> None:
    """A broadcast waits for one busy DRAM; a small transfer on another DRAM may not push in before it."""
    spec = SPECS["default"]
    n = Numbers(spec)
    lines = program(p_d(32000, 0), mv(MvForm.B4, 6400, dram(), l2bm(), prio=1), p_d(64, 3))
    holder, broadcast, small = simulate(lines, spec).transfers
    assert broadcast.data >= holder.end
    assert small.data == broadcast.end == broadcast.data + n.data(6400, "b4")


def test_dram_bandwidth_bounds_every_form_that_touches_dram() -> None:
    spec = ChipSpec.load({"dram.bandwidth": 48})  # 8 LW per cycle at 750 MHz
    assert simulate(program(d_l(6400)), spec).cycles == 200 + 6400 // 8
    assert simulate(program(mv(MvForm.B_DRAM, 6400, dram(), l2bm())), spec).cycles == 200 + 6400 // 16


def test_indirect_transfers_take_their_factor() -> None:
    spec = ChipSpec.load({"dram.indirect_factor": 2.5})
    line = mv(MvForm.D_L, 6400, dram(0, indirect=True), l2bm(0, 0))
    assert simulate(program(line), spec).cycles == 200 + 1000


def test_a_slow_l1bm_stretches_its_steps() -> None:
    spec = ChipSpec.load({"l1bm.rate.l1bmd": 32})
    timing = simulate(program(step(ALU), step(ALU, store("l1bmd", 1, 256)), step(store("l1bmd", 1, 256)), nop()), spec)
    assert timing.cycles == 4 + 8 + 8 + 4
    assert timing.by_cause["compute"] == 4
    assert timing.by_cause["transfer"] == 16


def test_the_two_lw_form_moves_twice_as_much_in_the_same_time() -> None:
    one, two = program(step(load("l1bmm", 1, 16))), program(step(load("l1bmm", 2, 32)))
    assert simulate(one).cycles == simulate(two).cycles == 4
    assert 2 * simulate(one).bytes_by_link["L1BM-PE"] == simulate(two).bytes_by_link["L1BM-PE"] == 32 * 64 * 8
