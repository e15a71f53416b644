"""The cheap stages of the hazard check hide nothing: the same violations as comparing all footprints of all pairs."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from hw.program import Mv, PeLoad, PeStore, Program, Step
from hw.sanitizer.effects import latch_users, official_footprint
from hw.sanitizer.footprint import footprint
from hw.sanitizer.hazards import check, hazard
from hw.sanitizer.resources import LATCHES
from hw.sanitizer.roles import GRF_RULES, roles, share_grf
from hw.sanitizer.rules import LONGEST
from isa.assemble import assemble
from tests.sanitizer.random_code import Writer


def _program(seed: int) -> Program:
    rng = Random(seed)
    lines = Writer(rng).program(60)
    return assemble("\n".join(line for row in lines for line in [row, *["nop"] * rng.choice((0, 0, 1))]),
                    check_hazards=False)  # fmt: skip


def _violations(program: Program, *, strict: bool) -> list[tuple[int, int, int]]:
    """(row, earlier line, later line) from the footprints of every pair of lines."""
    used = latch_users(program)
    timed: list[tuple[int, Step | Mv, list]] = []  # type: ignore[type-arg]
    at = 0
    for index, line in enumerate(program.lines):
        if not isinstance(line, (Step, Mv)):
            continue
        items = line.items if isinstance(line, Step) else (line,)
        prints = [
            footprint(item) if strict or isinstance(item, Mv) else official_footprint(item, used[index])
            for item in items
        ]
        timed.append((at, line, prints))
        at += isinstance(line, Step)
    found = []
    for number, (at, later, second) in enumerate(timed):
        for before, earlier, first in timed[:number]:
            if at - before < LONGEST and isinstance(earlier, Step):
                needs = [hazard(a, b) for a in first for b in second]
                found += [
                    (need.rule.row, earlier.line, later.line) for need in needs if need and at - before < need.steps
                ]
    return found


@pytest.mark.parametrize("strict", [False, True])
def test_check_finds_what_all_pairs_of_footprints_show(strict: bool) -> None:
    total = 0
    for seed in range(25):
        program = _program(seed)
        found = [(int(v.rule.split()[1]), v.earlier_line, v.line) for v in check(program, strict=strict)]
        assert found == _violations(program, strict=strict), seed
        total += len(found)
    assert total > 100


def test_roles_and_blocks_cover_the_footprints() -> None:
    steps = [line for seed in range(25) for line in _program(seed).lines if isinstance(line, Step)]
    items = [item for step in steps for item in step.items]
    for item in items:
        whole = footprint(item)
        earlier, later = roles(item)
        assert (whole.earlier & ~earlier, whole.later & ~later) == (0, 0), item
    apart = 0
    for first, second in pairwise(items):
        a, b = footprint(first), footprint(second)
        if a.earlier & b.later & GRF_RULES and not share_grf([first], [second]):
            apart += 1
            need = hazard(a, b)
            assert need is None or need.rule.row != 1, (first, second)
    assert apart > 5


def test_latch_users_look_ahead_to_the_next_step_that_fills() -> None:
    for seed in range(25):
        program = _program(seed)
        for index, used in enumerate(latch_users(program)):
            assert used == _read_later(program, index), (seed, index)


def _read_later(program: Program, index: int) -> bool:
    """By running on from the line and asking each time what its latches still hold."""
    line = program.lines[index]
    if not isinstance(line, Step) or line.hold or not line.items:
        return False
    kept = {"latch"} | {"turn" for item in line.items if isinstance(item, PeStore)}
    for later in program.lines[index + 1 :]:
        if not isinstance(later, Step) or not later.items:
            continue
        reads = {"latch" for item in later.items if footprint(item).latches_read & LATCHES}
        reads |= {"turn" for item in later.items if isinstance(item, PeLoad) and item.addr is None}
        if reads & kept:
            return True
        if not later.hold:
            kept -= {"latch"} | {"turn" for item in later.items if isinstance(item, PeStore)}
    return False
