"""The proof: programs that wait properly have the bits of the value pass and the cycles of the time pass."""

from __future__ import annotations

from random import Random

import pytest

from hw.engine import execute
from hw.lockstep import run
from hw.model import simulate
from hw.program import Program
from hw.sanitizer.runtime import sanitize
from isa import assemble
from isa.record import Group
from isa.sample import SAMPLED, sample
from tests.lockstep.random_runs import differences, filled_board, properly_waiting, random_text, transfers


def check(program: Program) -> None:
    together, apart = filled_board(), filled_board()
    result = run(program, together)
    execute(program, apart, threads=1)
    assert differences(together, apart) == []
    assert result.cycles == simulate(program).cycles


@pytest.mark.parametrize("seed", [8, 12, *[pytest.param(n, marks=pytest.mark.slow) for n in range(20, 70)]])
def test_random_programs_that_wait_properly(seed: int) -> None:
    check(properly_waiting(random_text(seed)))


@pytest.mark.parametrize("seed", [0, 4, *[pytest.param(n, marks=pytest.mark.slow) for n in range(100, 160)]])
def test_where_lockstep_differs_the_sanitizer_names_a_race(seed: int) -> None:
    """The waits of a random program stand anywhere: without a race in its findings, nothing may differ."""
    program = assemble("\n".join(random_text(seed)), check_hazards=False)
    if not transfers(sanitize(program, filled_board(), mode="warn")):
        check(program)


@pytest.mark.parametrize("seed", [1, *[pytest.param(n, marks=pytest.mark.slow) for n in range(2, 12)]])
def test_all_forms_of_mv(seed: int) -> None:
    """One after the other, each followed by its wait."""
    rnd = Random(seed)
    lines: list[str] = []
    for record in SAMPLED:
        if record.group is Group.MV and record.slots:
            for _ in range(3):
                head, *operands = sample(rnd.choice, [record]).split()
                name = head.partition("/")[0]
                lines += [" ".join((f"{name}/n{64 * rnd.randrange(1, 4)}i01", *operands)), "nop; wait i01"]
    assert len(lines) > 30
    check(assemble("\n".join(lines)))


def test_time_does_not_depend_on_observers_or_on_the_order_of_runs() -> None:
    program = properly_waiting(random_text(8))
    first = run(program, filled_board()).cycles
    sanitize(program, filled_board(), mode="warn")
    assert run(program, filled_board(2)).cycles == first
