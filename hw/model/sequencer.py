"""The SimPy processes: the instruction stream and the MV transfers it starts.

The stream is in order: a line issues when all lines before it have.  Steps follow each other back to back, an MV issues
at the earliest `mv.issue_interval` cycles after the previous one, a `wait` holds everything behind it.  An MV stands in
the queue of its (source space, destination space, source group), or in several; it starts when it heads them all.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import simpy
from numpy.typing import NDArray
from simpy.events import Event

from hw.events import Cause
from hw.model.arbiter import PortArbiter
from hw.model.errors import DeadlockError, TagError
from hw.model.stream import Issue, Run, Stream, Wait
from hw.model.traffic import MvPlan, PortMap, QueueKey, plan
from hw.spec import ChipSpec


@dataclass(slots=True)
class TransferTime:
    """When one MV did what, in cycles: `issue`, then the waits and latency in `phases`, `data` to `end` the data phase.

    `phases` are (what a `wait` for this MV suffers meanwhile, start, end) and cover `[issue, end)` without gaps.
    """

    plan: MvPlan
    issue: int
    data: int = 0
    end: int = 0
    phases: list[tuple[Cause, int, int]] = field(default_factory=list)

    @property
    def begin(self) -> int:
        """Cycle in which it left its queue (with pipelined latency: its issue)."""
        return next((start for cause, start, _ in self.phases if cause is not Cause.WAIT_QUEUE), self.issue)

    def spent(self, cause: Cause) -> int:
        """Cycles of the phases with this cause."""
        return sum(end - start for what, start, end in self.phases if what is cause)


@dataclass(frozen=True, slots=True)
class Stall:
    """The stream stood still in `[start, end)` before op `op`: at a `wait` for MV `mv`, or for an MV slot (`mv` -1)."""

    start: int
    end: int
    op: int
    mv: int
    line: int


@dataclass(frozen=True, slots=True)
class Release:
    """A `wait` (op `op`) that MV `mv` released; the next op is the run whose first step carries it."""

    op: int
    mv: int


@dataclass(slots=True)
class RawTimes:
    """What a simulation found: the issue cycle of every op, stalls, releases, transfers, and the ends."""

    op_issue: list[int] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    transfers: list[TransferTime] = field(default_factory=list)
    stream_end: int = 0

    @property
    def cycles(self) -> int:
        """Last completion: of the stream or of a transfer."""
        return max([self.stream_end, *(transfer.end for transfer in self.transfers)])


class Machine:
    """One run of one stream on one chip, from idle engines on."""

    def __init__(self, stream: Stream, spec: ChipSpec, step_cycles: NDArray[Any]) -> None:
        self.env = simpy.Environment()
        self.times = RawTimes()
        self._stream = stream
        self._step = spec.integer("step.cycles")
        self._interval = spec.integer("mv.issue_interval")
        self._notice = spec.integer("mv.notice_latency")
        self._pipelined = bool(spec.integer("mv.pipelined_latency"))
        self._arbiter = PortArbiter(self.env)
        self._run_cycles = {
            index: int(step_cycles[op.first : op.first + op.count].sum())
            for index, op in enumerate(stream.ops)
            if isinstance(op, Run)
        }
        ports = PortMap(spec)
        self._plans = [plan(mv, spec, ports) for mv in stream.mvs]
        self._last_in_queue: dict[QueueKey, Event] = {}
        self._raised: dict[int, list[int]] = {}
        self._reported: list[Event] = []

    def run(self) -> RawTimes:
        """Simulate to the last completion; DeadlockError or TagError with the line when the stream cannot go on."""
        self.env.process(self._sequence())
        self.env.run()
        return self.times

    def _sequence(self) -> Generator[Event, Any, None]:
        env, times = self.env, self.times
        next_slot = 0
        for index, op in enumerate(self._stream.ops):
            if isinstance(op, Run):
                times.op_issue.append(int(env.now))
                yield env.timeout(self._run_cycles[index])
            elif isinstance(op, Issue):
                if env.now < next_slot:
                    times.stalls.append(Stall(int(env.now), next_slot, index, -1, op.line))
                    yield env.timeout(next_slot - env.now)
                next_slot = int(env.now) + self._interval
                times.op_issue.append(int(env.now))
                if op.mv >= 0:
                    self._start(op)
            else:
                yield from self._wait(index, op)
                times.op_issue.append(int(env.now))
        times.stream_end = int(env.now)

    def _wait(self, index: int, op: Wait) -> Generator[Event, Any, None]:
        mv = self._consume(op)
        start = int(self.env.now)
        yield self._reported[mv]
        late = -(int(self.env.now) - start) % self._step  # the stream idles in whole steps (isa.md 12)
        if late:
            yield self.env.timeout(late)
        if self.env.now > start:
            self.times.stalls.append(Stall(start, int(self.env.now), index, mv, op.line))
        self.times.releases.append(Release(index, mv))

    def _consume(self, op: Wait) -> int:
        raised = self._raised.get(op.tag, [])
        if not raised:
            raise DeadlockError(f"wait i{op.tag:02x}: no earlier MV raises this tag, the stream stops here", op.line)
        if len(raised) > 1:
            lines = " and ".join(str(self._stream.mvs[mv].line) for mv in raised)
            raise TagError(f"wait i{op.tag:02x}: lines {lines} both raised it; wait between them", op.line)
        return raised.pop()

    def _start(self, op: Issue) -> None:
        mv_plan = self._plans[op.mv]
        tag = mv_plan.mv.tag
        if tag:
            raised = self._raised.setdefault(tag, [])
            if len(raised) > 1:
                raise TagError(f"tag i{tag:02x} is raised a third time without a wait", op.line)
            raised.append(op.mv)
        transfer = TransferTime(mv_plan, int(self.env.now))
        self.times.transfers.append(transfer)
        before = [self._last_in_queue[key] for key in mv_plan.queues if key in self._last_in_queue]
        done, reported = self.env.event(), self.env.event()
        self._reported.append(reported)
        for key in mv_plan.queues:
            self._last_in_queue[key] = done
        self.env.process(self._transfer(transfer, op.mv, before, done, reported))

    def _transfer(
        self, transfer: TransferTime, order: int, before: list[Event], done: Event, reported: Event
    ) -> Generator[Event, Any, None]:
        mv_plan = transfer.plan
        if self._pipelined:
            yield from self._latency(transfer)
            yield from self._queue(transfer, before)
        else:
            yield from self._queue(transfer, before)
            yield from self._latency(transfer)
        ready = int(self.env.now)
        yield from self._arbiter.acquire(mv_plan.ports, mv_plan.mv.prio, order)
        transfer.data = int(self.env.now)
        transfer.phases.append((Cause.WAIT_PORT, ready, transfer.data))
        yield self.env.timeout(mv_plan.data)
        transfer.end = int(self.env.now)
        transfer.phases.append((Cause.WAIT_DRAM if mv_plan.dram else Cause.WAIT_DATA, transfer.data, transfer.end))
        self._arbiter.release(mv_plan.ports)
        done.succeed()
        yield self.env.timeout(self._notice)
        reported.succeed()

    def _queue(self, transfer: TransferTime, before: list[Event]) -> Generator[Event, Any, None]:
        start = int(self.env.now)
        if before:
            yield self.env.all_of(before)
        transfer.phases.append((Cause.WAIT_QUEUE, start, int(self.env.now)))

    def _latency(self, transfer: TransferTime) -> Generator[Event, Any, None]:
        start = int(self.env.now)
        yield self.env.timeout(transfer.plan.latency)
        transfer.phases.append((Cause.WAIT_LATENCY, start, int(self.env.now)))
