"""`mncore2 bench`: how fast this simulator is on this machine."""

from __future__ import annotations

import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.cli.arguments import Json
from runtime.cli.output import print_json, print_table, progress

_DISTINCT_LINES = 10_000  # one item each, all different; the `nop` between them are not counted
_TRACE_COPIES = 40  # a trace of this many calls in a row is long enough to measure writing


@dataclass(frozen=True)
class Measure:
    """Something to time: `work` units are done by one call of `run`, before which `prepare` is called untimed."""

    name: str
    work: int
    unit: str
    run: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("bench")(bench)


class Subject(StrEnum):
    """What can be measured."""

    EVAL_STEP = "eval_step"
    ENGINE = "engine"


class Against(StrEnum):
    """What the engine can be measured beside."""

    NOTHING = "nothing"
    OFFICIAL = "official"


def bench(
    subject: Annotated[Subject, typer.Argument(help="A built-in program, or instructions.")] = Subject.EVAL_STEP,
    against: Annotated[
        Against, typer.Option("--against", help="With engine: time the official emulator too (see `fuzz`).")
    ] = Against.NOTHING,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Calls of each measurement; the median counts.")] = 5,
    json: Json = False,
) -> None:
    """Measure this simulator: the built-in program eval_step, or single instructions (engine); medians."""
    if subject is Subject.ENGINE:
        _bench_engine(repeat, against, json)
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="mncore2-bench-") as folder, progress() as bar:
        measures = list(_measures(Path(folder)))
        for measure in bar.track(measures, description="bench"):
            seconds = _median(measure, repeat)
            rate = measure.work / seconds
            rows.append({"what": measure.name, "seconds": seconds, "rate": rate, "unit": f"{measure.unit}/s"})
    if json:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "repeat": repeat}
        print_json({**machine, "measurements": rows})
    else:
        table = [(row["what"], row["seconds"] * 1e3, f"{row['rate']:,.0f} {row['unit']}") for row in rows]
        print_table(f"eval_step, median of {repeat}", ("what", "ms", "rate"), table)


def _bench_engine(repeat: int, against: Against, json: bool) -> None:
    from isa.fuzz import OfficialTools
    from runtime.cli.bench_engine import Speed, geometric_mean_ratio, measure, programs

    official = OfficialTools.find() if against is Against.OFFICIAL else None
    speeds: list[Speed] = []
    with progress() as bar:
        for speed in bar.track(measure(repeat, official), total=len(programs()), description="bench"):
            speeds.append(speed)
    ratio = geometric_mean_ratio(speeds)
    if json:
        print_json({"programs": [speed.as_dict() for speed in speeds], "geometric_mean_ratio": ratio})
        return
    rows = [(s.name, f"{s.steps_per_s:,.0f}", "" if s.official is None else f"{s.official:,.0f}") for s in speeds]
    print_table(f"full-chip steps per second, median of {repeat}", ("program", "here", "official"), rows)
    if ratio is not None:
        print_table("beside the official emulator", ("geometric mean of the ratios",), [(f"{ratio:,.0f}",)])


def _measures(folder: Path) -> Iterator[Measure]:
    from hw.engine import lower as lower_values
    from hw.events import EventLogBuilder
    from hw.model import lower as lower_time
    from hw.model import simulate_stream
    from hw.program import Step
    from hw.spec import default_spec
    from hw.state import Board
    from hw.trace import write_chrome, write_perfetto
    from isa.assemble import assemble, forget
    from isa.fuzz import distinct_lines
    from runtime.studies.eval_step import eval_step_program

    program, spec = eval_step_program(), default_spec()
    lines, steps = len(program.lines), sum(isinstance(line, Step) for line in program.lines)
    yield Measure("assemble eval_step, seen before", lines, "lines", lambda: assemble(program.source))
    random_lines = distinct_lines(1, _DISTINCT_LINES)
    again = Measure("assemble random lines, seen before", _DISTINCT_LINES, "lines", lambda: assemble(random_lines))
    yield again
    yield replace(again, name="assemble random lines, never seen", prepare=forget)
    yield Measure("lower for the value pass", lines, "lines", lambda: lower_values(program))
    lowered, board = lower_values(program), Board(spec)
    lowered.run(board)  # compiles or loads kernels
    yield Measure("value pass, whole board", steps, "steps", lambda: lowered.run(board))
    stream = lower_time(program)
    cycles = simulate_stream(stream, spec).cycles
    yield Measure("lower for the time model", lines, "lines", lambda: lower_time(program))
    yield Measure("time model", cycles, "cycles", lambda: simulate_stream(stream, spec))
    events = EventLogBuilder(float(spec["clock.core"]))
    detailed = simulate_stream(stream, spec, detail=True).events
    for copy in range(_TRACE_COPIES):
        events.append(detailed, copy * cycles)
    log = events.freeze()
    yield Measure("write trace.json", len(log), "slices", lambda: write_chrome(log, folder / "trace.json"))
    yield Measure("write trace.pb", len(log), "slices", lambda: write_perfetto(log, folder / "trace.pb"))


def _median(measure: Measure, repeat: int) -> float:
    times = []
    for _ in range(repeat):
        measure.prepare()
        begin = time.perf_counter()
        measure.run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
