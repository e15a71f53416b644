"""Speed of the time model and the trace writers on eval_step, with the floors that they promise.

Rates are per second of processor time, so that they mean the same on a busy machine; `extra_info` has those of the best
round.  Run with `pytest tests/bench/test_model_speed.py -m slow`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hw.engine import lower as lower_values
from hw.events import EventLog, EventLogBuilder
from hw.model import lower, simulate, simulate_stream
from hw.program import Program
from hw.spec import default_spec
from hw.state import Board
from hw.trace import write_chrome, write_perfetto

CYCLES_PER_SECOND = 1_000_000
SLICES_PER_SECOND = 300_000
OFF_SHARE = 0.02
COPIES = 60


@pytest.fixture(scope="module")
def eval_step() -> Program:
    """The compiled evaluation step of a small classifier."""
    from runtime.studies.eval_step import eval_step_program

    return eval_step_program()


def _note(benchmark: BenchmarkFixture, what: str, amount: int, floor: int) -> None:
    if benchmark.stats is not None:
        rate = amount / benchmark.stats.stats.min
        benchmark.extra_info[what] = round(rate)
        assert rate >= floor


pytestmark = [pytest.mark.slow, pytest.mark.benchmark(timer=time.process_time, disable_gc=True)]


def test_timing_only(benchmark: BenchmarkFixture, eval_step: Program) -> None:
    """From the decoded program to cycles, causes, layers and bytes; nothing is taken from a memo."""
    spec = default_spec()
    timing = benchmark.pedantic(lambda: simulate_stream(lower(eval_step), spec), rounds=30, warmup_rounds=3)
    _note(benchmark, "cycles/s", timing.cycles, CYCLES_PER_SECOND)


def test_timing_of_a_lowered_program(benchmark: BenchmarkFixture, eval_step: Program) -> None:
    """What a study pays for every chip after the first one."""
    stream, spec = lower(eval_step), default_spec()
    timing = benchmark.pedantic(simulate_stream, (stream, spec), rounds=30, warmup_rounds=3)
    _note(benchmark, "cycles/s", timing.cycles, CYCLES_PER_SECOND)


@pytest.fixture(scope="module")
def long_log(eval_step: Program) -> EventLog:
    """Some hundred thousand slices: eval_step in full detail, many times in a row."""
    timing = simulate(eval_step, detail=True)
    builder = EventLogBuilder(timing.clock_mhz)
    for copy in range(COPIES):
        builder.append(timing.events, copy * timing.cycles)
    return builder.freeze()


@pytest.mark.parametrize("name", ["trace.json", "trace.pb", "trace.json.gz", "trace.pb.gz"])
def test_trace_writing(benchmark: BenchmarkFixture, long_log: EventLog, tmp_path: Path, name: str) -> None:
    write = write_perfetto if ".pb" in name else write_chrome
    slices = benchmark.pedantic(lambda: write(long_log, tmp_path / name), rounds=4, warmup_rounds=1)
    _note(benchmark, "slices/s", slices, SLICES_PER_SECOND)


def test_a_run_without_traces_pays_nothing_for_them(eval_step: Program) -> None:
    """What a run spends on time and traces when none is asked for, beside what it spends on values."""
    lowered, board = lower_values(eval_step), Board()
    lowered.run(board)
    timing = simulate(eval_step)
    values = _best(lambda: lowered.run(board), 3)
    looked_up = _best(lambda: simulate(eval_step), 50)
    assert looked_up <= OFF_SHARE * values
    assert "events" not in vars(timing)


def _best(run: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)
