"""Raw times of one simulation: what each MV and host transfer did when, where the stream stood still, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hw.events import Cause
from hw.model.host import HostTransfer
from hw.model.traffic import MvPlan

Phase = tuple[Cause, int, int]
"""What a `wait` suffers, from cycle, to cycle."""


class Turn(NamedTuple):
    """One portion of a data phase: wanted the ports at `ready`, held them in `[start, end)`, doing `pieces`."""

    ready: int
    start: int
    end: int
    pieces: tuple[Phase, ...]


@dataclass(slots=True)
class TransferTime:
    """When one MV did what, in cycles; `op` is its place in the simulated ops (-1: issued by an earlier program).

    lead: the waits and latency before the data phase.  turns: the data phase.
    """

    plan: MvPlan
    issue: int
    op: int
    lead: list[Phase] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    @property
    def phases(self) -> list[Phase]:
        """What a `wait` for this MV suffers when; covers `[issue, end)` without gaps once the MV is complete."""
        found = list(self.lead)
        for turn in self.turns:
            found.append((Cause.WAIT_PORT, turn.ready, turn.start))
            found += turn.pieces
        return found

    @property
    def data(self) -> int:
        """First cycle of the data phase."""
        return self.turns[0].start

    @property
    def end(self) -> int:
        """End of the data phase."""
        return self.turns[-1].end

    @property
    def begin(self) -> int:
        """Cycle in which it left its queue (with pipelined latency: its issue)."""
        return next((start for cause, start, _ in self.lead if cause is not Cause.WAIT_QUEUE), self.issue)

    def spent(self, cause: Cause) -> int:
        """Cycles of the phases with this cause."""
        return sum(end - start for what, start, end in self.phases if what is cause)


@dataclass(slots=True)
class HostTime:
    """When one host transfer did what: from `start` on (its turn has come) to `end`; `pdm` its time at the PDM port."""

    transfer: HostTransfer
    start: int = -1
    end: int = -1
    pdm: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def phases(self) -> list[Phase]:
        """What a `wait` for this transfer suffers: all of it is the host's."""
        return [(Cause.WAIT_HOST, 0, self.end)]


@dataclass(slots=True)
class LinkSpan:
    """A link carried `nbytes` of `label` in `[start, end)`, in `count` pieces without a gap."""

    start: int
    end: int
    nbytes: int
    label: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Stall:
    """The stream stood still in `[start, end)`: at a `wait` for `waited`, or otherwise because of `cause`."""

    start: int
    end: int
    line: int
    cause: Cause
    waited: TransferTime | HostTime | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """A `wait` (op `op`) that `released` ended; the next run's first step carries it."""

    op: int
    released: TransferTime | HostTime


@dataclass(slots=True)
class RawTimes:
    """What a simulation found.  op_issue: issue cycle of every op.  links: the spans of each host link by name.

    inherited: MVs of an earlier program that were in flight at cycle 0, or complete with their tag still raised.
    """

    op_issue: list[int] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    transfers: list[TransferTime] = field(default_factory=list)
    inherited: list[TransferTime] = field(default_factory=list)
    hosts: list[HostTime] = field(default_factory=list)
    links: dict[str, list[LinkSpan]] = field(default_factory=dict)
    stream_end: int = 0

    @property
    def program_end(self) -> int:
        """Last completion of the stream or an MV."""
        return max([self.stream_end, *(t.end for t in self.transfers), *(t.end for t in self.inherited)])

    @property
    def cycles(self) -> int:
        """Last completion of all, host transfers included."""
        return max([self.program_end, *(host.end for host in self.hosts)])
