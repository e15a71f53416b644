"""The SimPy process of the instruction stream, and the machine around it.

The stream is in order: a line issues when all lines before it have.  Steps follow each other back to back, an MV issues
at the earliest `mv.issue_interval` cycles after the previous one, a `wait` holds everything behind it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import simpy
from numpy.typing import NDArray
from simpy.events import Event

from hw.events import Cause
from hw.model.arbiter import PortArbiter
from hw.model.engines import MvEngines
from hw.model.errors import DeadlockError
from hw.model.host import Direction, HostTransfer
from hw.model.hostside import DOWN, UP, HostDma, InstructionFeed
from hw.model.link import Link
from hw.model.packing import Packed
from hw.model.state import IDLE, EngineState
from hw.model.stream import Fetch, Fill, Issue, Run, Stream, Wait
from hw.model.tags import TagTable
from hw.model.times import RawTimes, Release, Stall
from hw.model.traffic import Planner
from hw.spec import ChipSpec


class Machine:
    """One run of one packed stream on one chip, from `start` on, with the host's transfers around it."""

    def __init__(
        self,
        stream: Stream,
        packed: Packed,
        spec: ChipSpec,
        step_cycles: NDArray[Any],
        planner: Planner,
        start: EngineState = IDLE,
        host: Sequence[HostTransfer] = (),
    ) -> None:
        self.env = simpy.Environment()
        self.times = RawTimes()
        self._mvs = stream.mvs
        self._ops = packed.ops
        self._step = spec.integer("step.cycles")
        self._interval = spec.integer("mv.issue_interval")
        self._next_slot = start.next_slot
        self._cycles_before = [0, *step_cycles.cumsum().tolist()]
        self._program_ended = self.env.event()
        self._waiting_line = 0
        arbiter = PortArbiter(self.env)
        self._tags = TagTable(self.env)
        self._engines = MvEngines(self.env, spec, planner, arbiter, self._tags, self.times, start)
        rate = spec.pcie_bytes_per_cycle
        self._links = {DOWN: Link(self.env, rate), UP: Link(self.env, rate)}
        self._feed = InstructionFeed(self.env, spec, self._links[DOWN], packed.packets)
        by_direction = {Direction.SEND: self._links[DOWN], Direction.RECEIVE: self._links[UP]}
        self._host: HostDma | None = None
        if host:
            self._host = HostDma(
                self.env, spec, host, planner.ports, arbiter, self._tags, by_direction, self._program_ended
            )

    def run(self) -> RawTimes:
        """Simulate to the last completion; DeadlockError or TagError with the line when the stream cannot go on."""
        times = self.times
        times.stream_end = -1
        self.env.process(self._sequence())
        self.env.run()
        if self._host is not None:
            times.hosts = self._host.times
        if times.stream_end < 0:
            raise DeadlockError("the stream waits for a host transfer that never comes", self._waiting_line)
        if self._host is not None:
            self._host.check_complete()
        times.links = {name: link.spans for name, link in self._links.items()}
        return times

    def state(self) -> EngineState:
        """What the engines are doing when the stream ends."""
        return self._engines.state(self.times.stream_end, self._next_slot)

    def _sequence(self) -> Generator[Event, Any, None]:
        env, times, before = self.env, self.times, self._cycles_before
        if self._host is not None:
            yield env.all_of(self._host.holding_start())
            self._stall(0, Cause.HOST_SEND, 0)
        for index, op in enumerate(self._ops):
            if isinstance(op, Run):
                times.op_issue.append(int(env.now))
                yield env.timeout(before[op.first + op.count] - before[op.first])
            elif isinstance(op, Issue):
                yield from self._issue(index, op)
            elif isinstance(op, Wait):
                yield from self._wait(index, op)
                times.op_issue.append(int(env.now))
            elif isinstance(op, Fetch):
                start = int(env.now)
                yield from self._feed.take()
                self._stall(start, Cause.HOST_STREAM, 0)
                times.op_issue.append(int(env.now))
            else:
                yield from self._fill(op)
        times.stream_end = int(env.now)
        yield self._engines.all_done()
        self._program_ended.succeed()

    def _stall(self, start: int, cause: Cause, line: int) -> None:
        if self.env.now > start:
            self.times.stalls.append(Stall(start, int(self.env.now), line, cause))

    def _issue(self, index: int, op: Issue) -> Generator[Event, Any, None]:
        start = int(self.env.now)
        if start < self._next_slot:
            yield self.env.timeout(self._next_slot - start)
            self._stall(start, Cause.MV_ISSUE, op.line)
        now = int(self.env.now)
        self._next_slot = now + self._interval
        self.times.op_issue.append(now)
        if op.mv >= 0:
            self._engines.issue(self._mvs[op.mv], index)

    def _fill(self, op: Fill) -> Generator[Event, Any, None]:
        start = int(self.env.now)
        self.times.op_issue.append(start)
        yield self.env.timeout(op.count * self._step)
        self._stall(start, Cause.PACKET_NOP, 0)

    def _wait(self, index: int, op: Wait) -> Generator[Event, Any, None]:
        ticket = self._tags.consume(op.tag, op.line)
        start = int(self.env.now)
        self._waiting_line = op.line
        yield ticket.reported
        late = -(int(self.env.now) - start) % self._step  # the stream idles in whole steps (isa.md 12)
        if late:
            yield self.env.timeout(late)
        if self.env.now > start:
            self.times.stalls.append(Stall(start, int(self.env.now), op.line, Cause.WAIT_NOTICE, ticket.raiser))
        self.times.releases.append(Release(index, ticket.raiser))
