"""From an event log to what viewers draw: lanes of spans that do not overlap, and nanoseconds."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.events import EventLog, EventLogBuilder, RegionTime, Track

Ints = NDArray[np.int64]
LAYERS = "layers"


@dataclass(frozen=True, eq=False)
class Lane:
    """Spans of one row of a viewer: indices into the log in order of start, none overlapping the next."""

    track: Track
    number: int
    rows: Ints

    @property
    def title(self) -> str:
        """Name of the row; further rows of a track are numbered from 2."""
        return f"{self.track.name} #{self.number + 1}" if self.number else self.track.name


def with_regions(log: EventLog, regions: Sequence[RegionTime]) -> EventLog:
    """The log with a first track that shows the regions (layers); the same log when there are none."""
    if not regions:
        return log
    builder = EventLogBuilder(log.clock_mhz)
    track = builder.track(Track(log.tracks[0].process if log.tracks else "board 0", LAYERS, LAYERS))
    for region in regions:
        builder.add(track, region.name or "(before the first layer)", region.start, region.end)
    builder.append(log)
    return builder.freeze()


def split_lanes(log: EventLog) -> list[Lane]:
    """All lanes of a log, in the order of its tracks; tracks without spans have none."""
    order = np.lexsort((log.end, log.start, log.track)).astype(np.int64)
    bounds = np.searchsorted(log.track[order], np.arange(len(log.tracks) + 1))
    lanes: list[Lane] = []
    for index, track in enumerate(log.tracks):
        rows = order[bounds[index] : bounds[index + 1]]
        if len(rows):
            lanes += [Lane(track, n, part) for n, part in enumerate(_lanes_of(log, rows))]
    return lanes


def _lanes_of(log: EventLog, rows: Ints) -> list[Ints]:
    """First-free-lane assignment of spans sorted by start; one lane in the common case of no overlap."""
    starts, ends = log.start[rows], log.end[rows]
    if not (starts[1:] < ends[:-1]).any():
        return [rows]
    lanes: list[list[int]] = []
    free: list[int] = []
    running: list[tuple[int, int]] = []
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        while running and running[0][0] <= start:
            heapq.heappush(free, heapq.heappop(running)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane = len(lanes)
            lanes.append([])
        lanes[lane].append(row)
        heapq.heappush(running, (end, lane))
    return [np.array(lane, dtype=np.int64) for lane in lanes]


def nanoseconds(cycles: Ints, clock_mhz: float) -> Ints:
    """Cycles as whole nanoseconds (viewers keep no finer time); equal cycles give equal nanoseconds."""
    return np.rint(cycles * (1000.0 / clock_mhz)).astype(np.int64)
