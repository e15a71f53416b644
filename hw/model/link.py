"""A host link: one SimPy resource that carries pieces one after the other at an exact rate."""

from __future__ import annotations

import math
from collections.abc import Generator
from fractions import Fraction
from typing import Any

import simpy
from simpy.events import Event

from hw.model.times import LinkSpan


class Link:
    """One direction of the link.  `spans` records what it carried, pieces of one label without a gap as one."""

    def __init__(self, env: simpy.Environment, bytes_per_cycle: Fraction) -> None:
        self._env = env
        self._rate = bytes_per_cycle
        self._turn = simpy.Resource(env, capacity=1)
        self._free = Fraction(0)
        self.spans: list[LinkSpan] = []

    def carry(self, nbytes: int, label: str) -> Generator[Event, Any, None]:
        """Wait for the link, in order of asking, and pass `nbytes`.

        Events stand at whole cycles; the exact end is kept, so that back-to-back pieces lose nothing to rounding.
        """
        with self._turn.request() as mine:
            yield mine
            now = int(self._env.now)
            start = self._free if self._free > now - 1 else Fraction(now)
            self._free = start + nbytes / self._rate
            end = math.ceil(self._free)
            yield self._env.timeout(end - now)
            self._record(now, end, nbytes, label)

    def _record(self, start: int, end: int, nbytes: int, label: str) -> None:
        last = self.spans[-1] if self.spans else None
        if last is not None and last.end == start and last.label == label:
            last.end, last.nbytes, last.count = end, last.nbytes + nbytes, last.count + 1
        else:
            self.spans.append(LinkSpan(start, end, nbytes, label))
