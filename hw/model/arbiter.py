"""Exclusive ports with priorities: the one contention policy of the time model.

The data phase of an MV needs all its ports at once and alone.  Waiting MVs are ranked by priority (larger first), then
by the cycle in which they became ready, then by issue order; nobody overtakes a higher-ranked one on a port that it
needs, so nobody starves (SDM 3.5.7 states the priorities; exclusiveness is a choice, see docs/cycles.md).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

import simpy
from simpy.events import Event, EventPriority

_AFTER_ALL_OF_THIS_CYCLE = EventPriority(2)


class _Round(Event):
    """Fires in the current cycle after every ordinary event of it, so that all requests of a cycle rank together."""

    def __init__(self, env: simpy.Environment) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        env.schedule(self, priority=_AFTER_ALL_OF_THIS_CYCLE)


@dataclass(order=True)
class _Request:
    rank: tuple[int, int, int]
    ports: frozenset[int] = field(compare=False)
    granted: Event = field(compare=False)


class PortArbiter:
    """Grants sets of ports to transfers inside one SimPy environment."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._busy: set[int] = set()
        self._waiting: list[_Request] = []
        self._round_pending = False

    def seize(self, ports: Iterable[int]) -> None:
        """Hold ports from the start on, for a transfer that already does."""
        self._busy.update(ports)

    def acquire(self, ports: Iterable[int], priority: int, order: int, ready: int) -> Generator[Event, Any, None]:
        """Wait until all `ports` are this transfer's own; it wants them since cycle `ready`."""
        request = _Request((-priority, ready, order), frozenset(ports), self._env.event())
        self._waiting.append(request)
        self._call_round()
        yield request.granted

    def release(self, ports: Iterable[int]) -> None:
        """Give ports back."""
        self._busy.difference_update(ports)
        if self._waiting:
            self._call_round()

    def _call_round(self) -> None:
        if not self._round_pending:
            self._round_pending = True
            callbacks = _Round(self._env).callbacks
            assert callbacks is not None
            callbacks.append(self._decide)

    def _decide(self, _event: Event) -> None:
        self._round_pending = False
        taken = set(self._busy)
        still_waiting: list[_Request] = []
        for request in sorted(self._waiting):
            if taken.isdisjoint(request.ports):
                self._busy |= request.ports
                request.granted.succeed()
            else:
                still_waiting.append(request)
            taken |= request.ports
        self._waiting = still_waiting
