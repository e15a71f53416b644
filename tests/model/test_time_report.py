"""The report of a program's time: what adds up, what bounds it, and what the checker notices."""

from __future__ import annotations

import json
from copy import deepcopy

from hw.events import Bound
from hw.model import simulate
from hw.model.report import estimates, lower_bounds, problems, time_report
from hw.program import Region
from hw.spec import ChipSpec, Rank, Role, default_spec
from tests.model.programs import ALU, MAU, d_l, load, nop, p_l, program, step

LINES = (d_l(6400, tag=1), *[step(ALU)] * 5, nop(), step(MAU, load()), nop(wait=1), step(), p_l(640, 1, to=2))
TIMING = simulate(program(*LINES, regions=(Region(1, "first"), Region(8, "second"))))
REPORT = time_report(TIMING, default_spec())


def test_it_is_plain_data() -> None:
    assert json.loads(json.dumps(REPORT)) == REPORT


def test_cycles_by_bound() -> None:
    stalled = 200 + 400 + 16 - 28
    assert REPORT["bounds"] == {
        "compute": 24,
        "on_chip_move": 0,
        "hazard_nop": 4,
        "dram_bound": 400,
        "mv_wait": stalled - 400 + 4 + 100 + 80,
        "host_bound": 0,
        "unattributed": 4,
    }
    assert list(REPORT["bounds"]) == [bound.value for bound in Bound]
    assert REPORT["vsm_cycles"] == 28 + stalled + 8 + 180


def test_units_and_bytes_of_layers() -> None:
    first, second = REPORT["layers"]
    assert (first["name"], first["start"], second["start"]) == ("first", 0, 200 + 400 + 16)
    assert first["units"]["ALU"] == 20
    assert first["units"]["MAU"] == first["units"]["L1BM"] == 4
    # The MV before the first layer takes no time, so its bytes have no other place.
    assert first["bytes_by_link"] == {"DRAM g0": 51200, "L2BM g0.0": 51200, "L1BM-PE": 16 * 64 * 8}
    # The data phase runs from 200 to 600, in the first layer, which ends with the stall at the wait.
    assert first["units"]["DRAM g0"] == 400
    assert first["lower_bounds"] == {"steps": 24, "dram": 400, "l2bm": 400}
    assert second["bytes_by_link"] == {"PDM g1": 5120, "L2BM g2.0": 5120}
    assert second["lower_bounds"] == {"pdm": 80, "l2bm": 80, "link": 80}


def test_lower_bounds_take_the_busiest_of_a_kind() -> None:
    busy = {"DRAM g0": 5, "DRAM g1": 9, "PDM g0": 0, "link g0 out": 3, "PCIe down": 2, "MAU": 50, "L2BM": 50}
    assert lower_bounds({"compute": 4, "transfer": 3}, busy) == {"steps": 7, "dram": 9, "link": 3, "host": 2}


def test_it_adds_up_and_the_checker_would_notice() -> None:
    assert problems(REPORT) == []
    wrong = deepcopy(REPORT)
    wrong["causes"]["compute"] += 1
    wrong["layers"][0]["causes"]["compute"] += 2
    wrong["layers"][1]["cycles"] += 5
    wrong["units"]["ALU"] = 10**6
    wrong["bounds"]["magic"] = 0
    found = "\n".join(problems(wrong))
    for message in (
        f"causes add up to {TIMING.cycles + 1} cycles, expected {TIMING.cycles}",
        "causes of layer 'first' add up",
        "causes of layer 'second' add up",
        f"layers add up to {TIMING.cycles + 5}",
        "ALU is busy for 1000000",
        "unknown bounds magic",
    ):
        assert message in found


def test_estimates_name_every_guess_and_every_override() -> None:
    spec = ChipSpec.load({"mv.rate.b4": 15})
    found = estimates(spec)
    assert found["mv.rate.b4"] == 15
    assert found["mv.latency.dram"] == 200
    guesses = [name for name in spec.names(Role.TIME) if spec.quantity(name).rank is Rank.ESTIMATED]
    assert set(found) == {*guesses, "mv.rate.b4"}
