"""When every line of a program issues and when every MV reads and completes, from the time model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hw.events import CAUSES, Cause
from hw.model import Timing, simulate
from hw.model.report import STREAM_TRACK
from hw.program import Mv, Program, Step
from hw.spec import ChipSpec

NEVER = -1
_STEP_CAUSES = (Cause.COMPUTE, Cause.TRANSFER, Cause.HAZARD_NOP, Cause.WAIT_STEP, Cause.UNATTRIBUTED)


@dataclass(frozen=True)
class Schedule:
    """Cycles by line index.

    issue: when a line acts; debug lines and `mvnop` act when the line before them has ended.  end: end of a step (for
    other lines the same as `issue`).  reads, arrives: data phase of an MV, NEVER for other lines.  Lines from the first
    one on that cannot issue (a deadlock) have NEVER everywhere.
    """

    issue: tuple[int, ...]
    end: tuple[int, ...]
    reads: tuple[int, ...]
    arrives: tuple[int, ...]
    timing: Timing


def schedule(program: Program, spec: ChipSpec | None = None, *, stop: int | None = None) -> Schedule:
    """The schedule of `program` on `spec` (default MN-Core 2).

    stop: lines from this index on never issue (where the value engine says that the stream cannot go on).
    Raises the errors of `hw.model`, with the line.
    """
    lines = program.lines
    if stop is not None and stop < len(lines):
        lines = lines[:stop]
        program = replace(program, lines=lines, regions=())
    timing = simulate(program, spec, detail=True)
    starts, ends = _steps(timing)
    transfers = iter(timing.transfers)
    issue: list[int] = []
    end: list[int] = []
    reads: list[int] = []
    arrives: list[int] = []
    now, step = 0, 0
    for line in lines:
        read = arrival = NEVER
        at = until = now
        if isinstance(line, Step):
            at, until = starts[step], ends[step]
            step += 1
        elif isinstance(line, Mv):
            transfer = next(transfers)
            at = until = transfer.issue
            read, arrival = transfer.data, transfer.end
        now = until
        for column, value in ((issue, at), (end, until), (reads, read), (arrives, arrival)):
            column.append(value)
    return Schedule(tuple(issue), tuple(end), tuple(reads), tuple(arrives), timing)


def _steps(timing: Timing) -> tuple[list[int], list[int]]:
    """First cycle and end of every step, in program order."""
    events = timing.events
    rows = events.on_track(STREAM_TRACK)
    wanted = [CAUSES.index(cause) for cause in _STEP_CAUSES]
    rows = rows[np.isin(events.cause[rows], wanted)]
    return events.start[rows].tolist(), events.end[rows].tolist()
