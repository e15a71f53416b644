"""`Timing`: what a simulation found, ready for reports, traces and the memo."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hw.events import EventLog, RegionTime, by_bound
from hw.model.errors import StateError
from hw.model.eventlog import LogSource
from hw.model.state import EngineState
from hw.model.times import HostTime, TransferTime
from hw.program import Unit

_PE_UNITS = frozenset(unit.name for unit in Unit)


@dataclass(frozen=True, eq=False)
class Timing:
    """Cycles of a whole program on one chip.  Shared between callers by the memo: treat it as read-only.

    cycles: first issue to last completion (host transfers, if any were given, included).  by_cause: adds up to `cycles`
    (keys: `Cause` without NONE).  by_unit: busy cycles of PE units (steps in which they have an item), ports (data
    phases) and host links.  bytes_by_link: bytes at every DRAM, PDM and L2BM port, on the L2BM-L1BM and L1BM-PE paths
    of the board and on the host links.  regions partition `[0, cycles)`.  transfers: one entry per MV in program order;
    host_transfers: one per host transfer.  steps: PE steps of the program.  stream_end: when the stream has ended.
    """

    cycles: int
    regions: list[RegionTime]
    by_cause: dict[str, int]
    by_unit: dict[str, int]
    bytes_by_link: dict[str, int]
    transfers: list[TransferTime]
    host_transfers: list[HostTime]
    steps: int
    stream_end: int
    clock_mhz: float
    spec_digest: str
    program_digest: str
    detail: bool = False
    _state: EngineState = field(default_factory=EngineState, repr=False)
    _source: LogSource | None = field(default=None, repr=False)

    @cached_property
    def events(self) -> EventLog:
        """The event log, made on first use."""
        assert self._source is not None
        return self._source.log(detail=self.detail)

    @property
    def end_state(self) -> EngineState:
        """What the engines are doing when the stream ends, to start another program right there.

        StateError when host transfers took part, which belong to this program alone.
        """
        if self.host_transfers:
            raise StateError("a program with host transfers hands over no engine state; simulate it without them")
        return self._state

    @property
    def seconds(self) -> float:
        """Device time in seconds."""
        return self.cycles / (self.clock_mhz * 1e6)

    @property
    def by_bound(self) -> dict[str, int]:
        """`by_cause` in summary: compute, on-chip moves, hazard nops, DRAM, MV wait, host, unattributed."""
        return by_bound(self.by_cause)

    @property
    def lower_bound(self) -> int:
        """Cycles that no schedule of the same work can beat: the busiest port, or the steps that do something."""
        working = self.by_cause["compute"] + self.by_cause["transfer"]
        ports = [busy for unit, busy in self.by_unit.items() if unit not in _PE_UNITS]  # `working` counts those
        return max([working, *ports])

    def as_dict(self) -> dict[str, object]:
        """The totals, ready for JSON."""
        return {
            "vsm_cycles": self.cycles,
            "core_freq": self.clock_mhz,
            "seconds": self.seconds,
            "steps": self.steps,
            "mv_count": len(self.transfers),
            "lower_bound": self.lower_bound,
            "by_cause": {cause: cycles for cause, cycles in self.by_cause.items() if cycles},
            "by_bound": self.by_bound,
            "by_unit": self.by_unit,
            "bytes_by_link": self.bytes_by_link,
            "regions": [
                {"name": r.name, "start": r.start, "end": r.end, "by_cause": dict(r.by_cause)} for r in self.regions
            ],
            "spec_digest": self.spec_digest,
            "program_digest": self.program_digest,
        }
