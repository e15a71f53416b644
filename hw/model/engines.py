"""The MV engines: SimPy processes of transfers between queue, latency, ports, data and notice.

An MV stands in the queue of its (source space, destination space, source group), or in several; it starts when it heads
them all.  Its data phase holds all its ports; with `mv.arbitration_unit` it gives them up between portions.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import simpy
from simpy.events import Event

from hw.events import Cause
from hw.model.arbiter import PortArbiter
from hw.model.dram import Refresh
from hw.model.state import IDLE, EngineState, in_flight
from hw.model.tags import TagTable, Ticket
from hw.model.times import RawTimes, TransferTime, Turn
from hw.model.traffic import MvPlan, Planner, QueueKey
from hw.program import Mv
from hw.spec import ChipSpec


class MvEngines:
    """All MV engines of a board in one SimPy environment, taking over the transfers of `start`."""

    def __init__(
        self,
        env: simpy.Environment,
        spec: ChipSpec,
        planner: Planner,
        arbiter: PortArbiter,
        tags: TagTable,
        times: RawTimes,
        start: EngineState,
    ) -> None:
        start.check(spec.digest)
        self._chip = spec.digest
        self._env = env
        self._planner = planner
        self._arbiter = arbiter
        self._tags = tags
        self._times = times
        self._notice = spec.integer("mv.notice_latency")
        self._pipelined = bool(spec.integer("mv.pipelined_latency"))
        self._refresh = Refresh.of(spec, start.refresh)
        self._last_in_queue: dict[QueueKey, Event] = {}
        self._done: list[Event] = []
        self._take_over(start)

    def _take_over(self, start: EngineState) -> None:
        tickets: list[Ticket] = []
        for number, flight in enumerate(start.flying):
            transfer = TransferTime(self._planner.plan(flight.mv), flight.issue, -1, [*flight.lead], [*flight.turns])
            self._times.inherited.append(transfer)
            if transfer.turns and transfer.end > 0:
                self._arbiter.seize(transfer.plan.ports)
            tickets.append(self._launch(transfer, number - len(start.flying)))
        for tag, flights in start.tags:
            for number in flights:
                self._tags.raise_(tag, tickets[number])

    def issue(self, mv: Mv, op: int) -> None:
        """An MV leaves the stream now; TagError when its tag is in use."""
        transfer = TransferTime(self._planner.plan(mv), int(self._env.now), op)
        ticket = self._launch(transfer, len(self._times.transfers))
        self._times.transfers.append(transfer)
        if mv.tag:
            self._tags.raise_(mv.tag, ticket, mv.line)

    def all_done(self) -> Event:
        """All transfers so far have ended."""
        return self._env.all_of(self._done)

    def state(self, now: int, next_slot: int) -> EngineState:
        """The state at cycle `now`, after the simulation has run to its end."""
        transfers = [*self._times.inherited, *self._times.transfers]
        unconsumed = self._tags.unconsumed()
        wanted = {id(ticket.raiser) for tickets in unconsumed.values() for ticket in tickets}
        kept = [t for t in transfers if t.end > now or t.turns[-1].start >= now or id(t) in wanted]
        index = {id(t): number for number, t in enumerate(kept)}
        if not kept and next_slot <= now and self._refresh is None:
            return IDLE
        return EngineState(
            max(0, next_slot - now),
            tuple(in_flight(transfer, now) for transfer in kept),
            tuple((tag, tuple(index[id(t.raiser)] for t in tickets)) for tag, tickets in sorted(unconsumed.items())),
            None if self._refresh is None else self._refresh.next_after(now) - now,
            self._chip,
        )

    def _launch(self, transfer: TransferTime, order: int) -> Ticket:
        queues = transfer.plan.queues
        before = [self._last_in_queue[key] for key in queues if key in self._last_in_queue]
        done, reported = self._env.event(), self._env.event()
        for key in queues:
            self._last_in_queue[key] = done
        self._done.append(done)
        self._env.process(self._life(transfer, order, before, done, reported))
        return Ticket(transfer, reported)

    def _life(
        self, transfer: TransferTime, order: int, before: Sequence[Event], done: Event, reported: Event
    ) -> Generator[Event, Any, None]:
        plan = transfer.plan
        stages = (self._latency, self._queue) if self._pipelined else (self._queue, self._latency)
        for stage in stages[len(transfer.lead) :]:
            yield from stage(transfer, before)
        if transfer.turns and transfer.end > self._env.now:  # taken over while it moves data
            yield self._env.timeout(transfer.end - self._env.now)
            self._arbiter.release(plan.ports)
        for work in plan.turns[len(transfer.turns) :]:
            yield from self._turn(transfer, work, order)
        done.succeed()
        if transfer.end + self._notice > self._env.now:
            yield self._env.timeout(transfer.end + self._notice - self._env.now)
        reported.succeed()

    def _queue(self, transfer: TransferTime, before: Sequence[Event]) -> Generator[Event, Any, None]:
        start = transfer.lead[-1][2] if transfer.lead else transfer.issue
        if before:
            yield self._env.all_of(before)
        transfer.lead.append((Cause.WAIT_QUEUE, start, int(self._env.now)))

    def _latency(self, transfer: TransferTime, before: Sequence[Event]) -> Generator[Event, Any, None]:
        start = transfer.lead[-1][2] if transfer.lead else transfer.issue
        yield self._env.timeout(start + transfer.plan.latency - self._env.now)
        transfer.lead.append((Cause.WAIT_LATENCY, start, int(self._env.now)))

    def _turn(self, transfer: TransferTime, work: int, order: int) -> Generator[Event, Any, None]:
        plan = transfer.plan
        ready = transfer.end if transfer.turns else transfer.lead[-1][2]
        if not work:  # nothing to move needs no port
            transfer.turns.append(Turn(ready, ready, ready, ()))
            return
        yield from self._arbiter.acquire(plan.ports, plan.mv.prio, order, ready)
        start = int(self._env.now)
        turn = self._data_phase(plan, ready, start, work)
        transfer.turns.append(turn)
        yield self._env.timeout(turn.end - start)
        self._arbiter.release(plan.ports)

    def _data_phase(self, plan: MvPlan, ready: int, start: int, work: int) -> Turn:
        cause = Cause.WAIT_DRAM if plan.dram else Cause.WAIT_DATA
        if self._refresh is None or not plan.dram:
            return Turn(ready, start, start + work, ((cause, start, start + work),))
        pieces = tuple(
            (Cause.WAIT_REFRESH if pausing else cause, a, b) for a, b, pausing in self._refresh.pieces(start, work)
        )
        return Turn(ready, start, pieces[-1][2], pieces)
