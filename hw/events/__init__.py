"""What happened when: a columnar log of spans on tracks, the closed vocabulary of causes, and regions."""

from hw.events.cause import CAUSES, Cause
from hw.events.log import EventLog, EventLogBuilder, Flow, Track, cause_ids
from hw.events.region import RegionTime

__all__ = ["CAUSES", "Cause", "EventLog", "EventLogBuilder", "Flow", "RegionTime", "Track", "cause_ids"]
