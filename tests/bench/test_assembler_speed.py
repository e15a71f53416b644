"""Speed of the assembler, hazards checked, on random lines that are all different, with the floors that it promises.

Rates are per second of processor time.  Run with `pytest tests/bench/test_assembler_speed.py -m slow`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from isa.assemble import assemble, forget
from isa.fuzz import distinct_lines

LINES = 10_000
NEVER_SEEN = 20_000
SEEN = 60_000


@pytest.mark.slow
@pytest.mark.parametrize(("prepare", "floor"), [(forget, NEVER_SEEN), (lambda: None, SEEN)], ids=["never seen", "seen"])
def test_lines_per_second(benchmark: BenchmarkFixture, prepare: Callable[[], None], floor: int) -> None:
    text = distinct_lines(1, LINES)
    best = float("inf")
    for _ in range(5):
        prepare()
        begin = time.process_time()
        assemble(text)
        best = min(best, time.process_time() - begin)
    benchmark.pedantic(assemble, (text,), setup=prepare, rounds=3)
    benchmark.extra_info["lines/s"] = round(LINES / best)
    assert LINES / best > floor
