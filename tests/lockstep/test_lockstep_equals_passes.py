"""The proof: for programs that wait properly, lock-step gives the bits of the value pass and the cycles of the time pass."""

from __future__ import annotations

import pytest

from hw.engine import execute
from hw.lockstep import run
from hw.model import simulate
from tests.lockstep.random_runs import (
    differences,
    filled_board,
    properly_waiting,
    random_text,
    transfers,
)


@pytest.mark.parametrize("seed", [0, 3, 11, 17, *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 70)]])
def test_bits_and_cycles_of_random_programs(seed: int) -> None:
    program = properly_waiting(random_text(seed))
    together, apart = filled_board(), filled_board()
    result = run(program, together)
    execute(program, apart, threads=1)
    assert differences(together, apart) == []
    assert result.cycles == simulate(program).cycles
