"""The choices of how transfers share ports: links between groups, PDM ports, turns; cycles by hand."""

from __future__ import annotations

import pytest

from hw.model import simulate
from hw.program import Line, MvForm
from hw.spec import ChipSpec
from tests.model.programs import d_l, dram, l2bm, mv, p_d, p_l, pdm, program

PDM, DRAM, SLOT = 100, 200, 16


def _ends(*lines: Line, **numbers: float) -> list[int]:
    spec = ChipSpec.load({name.replace("__", "."): value for name, value in numbers.items()})
    return [transfer.end for transfer in simulate(program(*lines), spec).transfers]


def test_with_a_ring_one_transfer_crosses_at_a_time() -> None:
    assert _ends(p_l(640, 0, to=1), p_l(640, 2, to=3)) == [PDM + 80, PDM + 160]


def test_with_links_of_their_own_groups_cross_side_by_side() -> None:
    lines = (p_l(640, 0, to=1), p_l(640, 2, to=3))
    assert _ends(*lines, ring__shared=False) == [PDM + 80, SLOT + PDM + 80]


@pytest.mark.parametrize(("other", "waits"), [(p_l(640, 2, to=1, bank=1), True), (p_l(640, 1, to=0), False)])
def test_a_link_carries_one_transfer_in_and_one_out(other: Line, waits: bool) -> None:
    """Into the same group they take turns; the opposite direction is free."""
    first, second = _ends(p_l(640, 0, to=1), other, ring__shared=False)
    assert first == PDM + 80
    assert second == (first if waits else SLOT + PDM) + 80


def test_a_broadcast_holds_the_links_into_all_other_groups() -> None:
    spec = ChipSpec.load({"ring.shared": False})
    (transfer,) = simulate(program(mv(MvForm.B_PDM, 640, pdm(1), l2bm())), spec).transfers
    names = [name for name, busy in simulate(program(transfer.plan.mv), spec).by_unit.items() if busy]
    assert [name for name in names if name.startswith("link")] == [
        "link g1 out",
        "link g0 in",
        "link g2 in",
        "link g3 in",
    ]


def test_a_second_pdm_port_serves_what_crosses_groups() -> None:
    inside, crossing = p_l(6400, 0), p_l(640, 0, to=2)
    queues = (crossing, mv(MvForm.P_D, 640, pdm(0), dram(0)))  # two queues, one PDM
    assert _ends(*queues) == [PDM + 80, SLOT + DRAM + 40]
    slow = ChipSpec.load({"mv.rate.p_l.cross": 2})
    held = [t.end for t in simulate(program(*queues), slow).transfers]
    assert held == [PDM + 320, PDM + 320 + 40]
    free = [t.end for t in simulate(program(*queues), slow.with_overrides({"pdm.cross_port": 1})).transfers]
    assert free == [PDM + 320, SLOT + DRAM + 40]
    moved = simulate(program(inside, crossing), slow.with_overrides({"pdm.cross_port": 1})).bytes_by_link
    assert (moved["PDM g0"], moved["PDM g0 cross"]) == (8 * 6400, 8 * 640)


def test_a_simplex_pdm_reads_and_writes_after_each_other() -> None:
    inside, across = mv(MvForm.P_P, 6400, pdm(0), pdm(0)), mv(MvForm.P_P, 6400, pdm(0), pdm(1))
    assert _ends(inside) == [PDM + 400]
    assert _ends(inside, pdm__duplex=False) == [PDM + 800]
    assert _ends(across, pdm__duplex=False) == [PDM + 800]  # the cross rate, two PDMs


def test_in_turns_two_transfers_of_one_port_share_it() -> None:
    """Both want the L2BM from cycle 200 on; in turns of 160 LW (10 cycles) they alternate to the end of the shorter."""
    lines = (p_l(6400), d_l(640))
    alone = PDM + 400
    assert _ends(*lines, mv__latency__pdm=216) == [216 + 400, 216 + 400 + 40]
    first, second = _ends(*lines, mv__latency__pdm=216, mv__arbitration_unit=160)
    # Ready in one cycle, the first one starts; after 4 rounds of both the second has its 40 cycles.
    assert second == 216 + 4 * 20
    assert first == 216 + 440
    assert _ends(p_l(6400), mv__arbitration_unit=160) == [alone]


def test_an_urgent_transfer_goes_between_the_turns_of_another_one() -> None:
    lines = (p_l(32000), d_l(640, prio=3))
    assert _ends(*lines) == [PDM + 2000, PDM + 2000 + 40]
    # Ready 116 cycles into the data phase of the other one, whose twelfth turn of 10 cycles ends at 120.
    assert _ends(*lines, mv__arbitration_unit=160) == [PDM + 2000 + 40, PDM + 120 + 40]


@pytest.mark.parametrize("size", [64, 640, 704])
@pytest.mark.parametrize("unit", [1, 100, 640, 5000])
def test_turns_cost_nothing_by_themselves(size: int, unit: int) -> None:
    rate = {"mv.rate.p_l.same": 7}
    whole = simulate(program(p_l(size)), ChipSpec.load(rate)).cycles
    assert simulate(program(p_l(size)), ChipSpec.load({**rate, "mv.arbitration_unit": unit})).cycles == whole


def test_an_empty_transfer_needs_no_port() -> None:
    holder, empty = p_l(6400), d_l(0)
    assert _ends(holder, empty) == [PDM + 400, SLOT + DRAM]


def test_a_port_is_free_for_the_next_one_in_the_cycle_in_which_it_is_given_up() -> None:
    assert _ends(p_d(640, 0), mv(MvForm.B4, 640, dram(), l2bm())) == [DRAM + 40, DRAM + 40 + 40]
