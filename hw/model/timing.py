"""`Timing`: what a simulation found, ready for reports, traces and the memo."""

from __future__ import annotations

from dataclasses import dataclass

from hw.events import EventLog, RegionTime
from hw.model.sequencer import TransferTime


@dataclass(frozen=True, eq=False)
class Timing:
    """Cycles of a whole program on one chip.  Shared between callers by the memo: treat it as read-only.

    cycles: first issue to last completion.  by_cause: adds up to `cycles` (keys: `Cause` without NONE).  by_unit: busy
    cycles of PE units (steps in which they have an item) and ports (data phases).  bytes_by_link: bytes at every DRAM,
    PDM and L2BM port, and on the L2BM-L1BM and L1BM-PE paths of the board.  regions partition `[0, cycles)`.
    transfers: one entry per MV in program order.  steps: PE steps issued.
    """

    cycles: int
    events: EventLog
    regions: list[RegionTime]
    by_cause: dict[str, int]
    by_unit: dict[str, int]
    bytes_by_link: dict[str, int]
    transfers: list[TransferTime]
    steps: int
    clock_mhz: float
    spec_digest: str
    program_digest: str

    @property
    def seconds(self) -> float:
        """Device time in seconds."""
        return self.cycles / (self.clock_mhz * 1e6)

    @property
    def lower_bound(self) -> int:
        """Cycles that no schedule of the same work can beat: the busiest port, or the steps that do something."""
        working = self.by_cause["compute"] + self.by_cause["transfer"]
        ports = [busy for unit, busy in self.by_unit.items() if unit.startswith(("DRAM", "PDM", "L2BM ", "ring"))]
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
            "by_unit": self.by_unit,
            "bytes_by_link": self.bytes_by_link,
            "regions": [
                {"name": r.name, "start": r.start, "end": r.end, "by_cause": {c: n for c, n in r.by_cause.items() if n}}
                for r in self.regions
            ],
            "spec_digest": self.spec_digest,
            "program_digest": self.program_digest,
        }
