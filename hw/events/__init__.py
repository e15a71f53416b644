"""What happened when: a columnar log of spans on tracks, counters, regions, the closed vocabulary of causes."""

from hw.events.cause import BOUND_OF, CAUSE_ID, CAUSES, Bound, Cause, by_bound
from hw.events.counter import Counter
from hw.events.log import EventLog, EventLogBuilder, Flow, Track, cause_ids
from hw.events.region import RegionTime

__all__ = [
    "BOUND_OF",
    "CAUSES",
    "CAUSE_ID",
    "Bound",
    "Cause",
    "Counter",
    "EventLog",
    "EventLogBuilder",
    "Flow",
    "RegionTime",
    "Track",
    "by_bound",
    "cause_ids",
]
