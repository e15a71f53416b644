"""Completion tags: raised by MVs and host transfers, consumed by `wait` and by host transfers (isa.md 2.5)."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

import simpy
from simpy.events import Event

from hw.model.errors import DeadlockError, TagError
from hw.model.times import HostTime, TransferTime


@dataclass(frozen=True, slots=True)
class Ticket:
    """Who raised a tag, and the event of its report."""

    raiser: TransferTime | HostTime
    reported: Event

    @property
    def line(self) -> int:
        """Source line of the MV that raised it, 0 for anything outside of the program."""
        return self.raiser.plan.mv.line if isinstance(self.raiser, TransferTime) and self.raiser.op >= 0 else 0


class TagTable:
    """Tags in use, by number, and the host transfers that wait for one to be raised."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._raised: dict[int, list[Ticket]] = {}
        self._announced: dict[int, deque[Ticket]] = defaultdict(deque)
        self._expected: dict[int, list[Event]] = {}

    def announce(self, tag: int, ticket: Ticket) -> None:
        """A host transfer will raise this tag; a `wait` may come before it and then takes the first announced one."""
        self._announced[tag].append(ticket)

    def raise_(self, tag: int, ticket: Ticket, line: int = 0) -> None:
        """A transfer with this tag was issued; TagError when two unconsumed ones exist already."""
        expecting = self._expected.get(tag)
        if expecting:
            expecting.pop(0).succeed(ticket)
            return
        raised = self._raised.setdefault(tag, [])
        if len(raised) > 1:
            raise TagError(f"tag i{tag:02x} is raised a third time without a wait", line)
        raised.append(ticket)

    def consume(self, tag: int, line: int) -> Ticket:
        """What a `wait` at `line` waits for; DeadlockError when nothing raised the tag, TagError when two did."""
        raised = self._raised.get(tag, [])
        if not raised and self._announced[tag]:
            return self._announced[tag].popleft()
        if not raised:
            raise DeadlockError(f"wait i{tag:02x}: no earlier MV raises this tag, the stream stops here", line)
        if len(raised) > 1:
            lines = " and ".join(str(ticket.line or "an earlier program") for ticket in raised)
            raise TagError(f"wait i{tag:02x}: lines {lines} both raised it; wait between them", line)
        return raised.pop()

    def expect(self, tag: int) -> Event:
        """An event whose value is the ticket of the next transfer that raises `tag`, or of one that has done so."""
        event = self._env.event()
        raised = self._raised.get(tag)
        if raised:
            event.succeed(raised.pop(0))
        else:
            self._expected.setdefault(tag, []).append(event)
        return event

    def unconsumed(self) -> dict[int, list[Ticket]]:
        """Tickets by tag that nobody has waited for."""
        return {tag: list(tickets) for tag, tickets in self._raised.items() if tickets}
