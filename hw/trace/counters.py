"""Counters that follow from an event log: bandwidth and utilisation of tracks that ask for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hw.events import Counter, EventLog
from hw.trace.lanes import Ints, Lane

_SMALLEST_WINDOW = 64
_WINDOWS = 512


def standard_counters(log: EventLog, lanes: Sequence[Lane]) -> list[Counter]:
    """The counters named by the tracks of a log, in the order of the tracks."""
    found: list[Counter] = []
    for lane in lanes:
        if lane.number == 0:  # further lanes exist only for spans that overlap, which ports and units never do
            if lane.track.counter:
                found.append(bandwidth(log, lane))
            if lane.track.utilisation:
                found.append(utilisation(log, lane))
    return found


def bandwidth(log: EventLog, lane: Lane) -> Counter:
    """GB/s of a track: the rate of each span, 0 between spans."""
    rows = lane.rows[log.end[lane.rows] > log.start[lane.rows]]
    start, end = log.start[rows], log.end[rows]
    rate = log.nbytes[rows] * log.clock_mhz / ((end - start) * 1000.0)
    keep = np.ones((len(rows), 2), dtype=np.bool_)
    keep[:-1, 1] = end[:-1] != start[1:]  # no drop to 0 where the next span follows at once
    cycles = np.stack((start, end), axis=1)[keep]
    values = np.stack((rate, np.zeros_like(rate)), axis=1)[keep]
    track = lane.track
    return Counter(track.process, track.group, track.counter, "GB/s", cycles, values)


def utilisation(log: EventLog, lane: Lane) -> Counter:
    """Percentage of time that the spans of a track cover, in equal windows from cycle 0 to the end of the log."""
    last = int(log.end.max())
    edges = np.unique(np.append(np.arange(0, last, window_cycles(last), dtype=np.int64), last))
    covered = _covered(log.start[lane.rows], log.end[lane.rows], edges)
    values = np.append(100.0 * np.diff(covered) / np.diff(edges), 0.0)
    track = lane.track
    return Counter(track.process, track.group, track.utilisation, "%", edges, values)


def window_cycles(cycles: int) -> int:
    """A power of two, such that a run of `cycles` has at most some hundred windows."""
    window = _SMALLEST_WINDOW
    while window * _WINDOWS < cycles:
        window *= 2
    return window


def _covered(start: Ints, end: Ints, cycles: Ints) -> Ints:
    """Cycles of spans in order that do not overlap which lie before each of `cycles`."""
    before = np.concatenate(([0], np.cumsum(end - start)))
    index = np.searchsorted(start, cycles, side="right")
    running = np.maximum(end[np.maximum(index - 1, 0)] - cycles, 0)
    return before[index] - np.where(index > 0, running, 0)
