"""The columnar event log: one row per span, NumPy columns, names and tracks stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hw.events.cause import CAUSE_ID, CAUSES, Cause

Column = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Track:
    """Where spans stand: `process` (a board or the host), `group` (a heading below it, may be ""), `name`.

    `counter`: non-empty if the bytes per second of the track's spans are also shown as a counter of that name;
    `utilisation`: the same for the share of time that the spans cover.
    """

    process: str
    group: str
    name: str
    counter: str = ""
    utilisation: str = ""


@dataclass(frozen=True, slots=True)
class Flow:
    """An arrow from one span to another (indices of rows), e.g. from an MV to the line that waited for it."""

    source: int
    target: int


@dataclass(frozen=True, eq=False)
class EventLog:
    """All spans of a run.  Columns have one value per span: `start`, `end` in cycles; ids into tracks, names, CAUSES.

    `line` is the source line (0 = none), `nbytes` the bytes moved, `count` the steps merged into the span.  `details`
    holds further facts of single rows.  Columns are read-only.
    """

    tracks: tuple[Track, ...]
    names: tuple[str, ...]
    track: Column
    name: Column
    start: Column
    end: Column
    cause: Column
    line: Column
    nbytes: Column
    count: Column
    flows: tuple[Flow, ...] = ()
    details: Mapping[int, Mapping[str, int | str]] = field(default_factory=dict)
    clock_mhz: float = 750.0

    def __len__(self) -> int:
        return len(self.start)

    def on_track(self, name: str) -> NDArray[np.intp]:
        """Row indices of the spans on all tracks called `name`, in order of start."""
        wanted = [index for index, track in enumerate(self.tracks) if track.name == name]
        rows = np.flatnonzero(np.isin(self.track, wanted))
        return rows[np.argsort(self.start[rows], kind="stable")]

    def rows(self, track: str | None = None) -> list[dict[str, int | str]]:
        """The spans (of one track) as records: track, name, start, end, cause, line, bytes, count and details."""
        chosen = range(len(self)) if track is None else self.on_track(track).tolist()
        return [
            {
                "track": self.tracks[self.track[i]].name,
                "name": self.names[self.name[i]],
                "start": int(self.start[i]),
                "end": int(self.end[i]),
                "cause": CAUSES[self.cause[i]].value,
                "line": int(self.line[i]),
                "bytes": int(self.nbytes[i]),
                "count": int(self.count[i]),
                **self.details.get(i, {}),
            }
            for i in chosen
        ]

    def busy(self) -> dict[str, int]:
        """Cycles covered by spans, and by track name."""
        totals = np.bincount(self.track, weights=self.end - self.start, minlength=len(self.tracks))
        result: dict[str, int] = {}
        for track, total in zip(self.tracks, totals.tolist(), strict=True):
            result[track.name] = result.get(track.name, 0) + int(total)
        return result


class EventLogBuilder:
    """Collects spans; `add` for single ones, `extend` for whole columns.  `freeze` makes the log."""

    def __init__(self, clock_mhz: float = 750.0) -> None:
        self._clock_mhz = clock_mhz
        self._tracks: dict[Track, int] = {}
        self._names: dict[str, int] = {}
        self._chunks: list[NDArray[np.int64]] = []
        self._pending: list[tuple[int, int, int, int, int, int, int, int]] = []
        self._flows: list[Flow] = []
        self._details: dict[int, Mapping[str, int | str]] = {}
        self._size = 0

    def track(self, track: Track) -> int:
        """Id of a track; tracks are shown in the order in which they are first named."""
        return self._tracks.setdefault(track, len(self._tracks))

    def name(self, text: str) -> int:
        """Id of a name."""
        return self._names.setdefault(text, len(self._names))

    def add(
        self,
        track: int,
        name: str,
        start: int,
        end: int,
        cause: Cause = Cause.NONE,
        *,
        line: int = 0,
        nbytes: int = 0,
        count: int = 1,
        details: Mapping[str, int | str] | None = None,
    ) -> int:
        """One span; returns its row index for `flow`."""
        self._pending.append((track, self.name(name), start, end, CAUSE_ID[cause], line, nbytes, count))
        if details:
            self._details[self._size] = details
        self._size += 1
        return self._size - 1

    def extend(
        self,
        track: int,
        names: Column,
        starts: Column,
        ends: Column,
        causes: Column | int,
        lines: Column,
        nbytes: Column | int,
        counts: Column,
    ) -> int:
        """Many spans of one track (ids as `name` and CAUSES give them); returns the row index of the first."""
        self._flush()
        block = np.empty((len(starts), 8), dtype=np.int64)
        for index, column in enumerate((track, names, starts, ends, causes, lines, nbytes, counts)):
            block[:, index] = column
        self._chunks.append(block)
        first = self._size
        self._size += len(starts)
        return first

    def flow(self, source: int, target: int) -> None:
        """An arrow between two rows."""
        self._flows.append(Flow(source, target))

    def append(self, log: EventLog, offset: int = 0, *, process: str | None = None) -> None:
        """All spans and flows of another log, `offset` cycles (of this log's clock) later, under `process` if given."""
        self._flush()
        first = self._size
        moved_tracks = [replace(track, process=process or track.process) for track in log.tracks]
        tracks = np.array([self.track(track) for track in moved_tracks], dtype=np.int64)
        names = np.array([self.name(name) for name in log.names], dtype=np.int64)
        if len(log):
            moved = (tracks[log.track], names[log.name], log.start + offset, log.end + offset)
            self._chunks.append(np.stack((*moved, log.cause, log.line, log.nbytes, log.count), axis=1))
            self._size += len(log)
        self._flows += [Flow(flow.source + first, flow.target + first) for flow in log.flows]
        self._details.update({first + row: facts for row, facts in log.details.items()})

    def _flush(self) -> None:
        if self._pending:
            self._chunks.append(np.array(self._pending, dtype=np.int64))
            self._pending = []

    def freeze(self) -> EventLog:
        """The finished log."""
        self._flush()
        table = np.concatenate(self._chunks) if self._chunks else np.empty((0, 8), dtype=np.int64)
        columns = [np.ascontiguousarray(table[:, index]) for index in range(8)]
        for column in columns:
            column.setflags(write=False)
        track, name, start, end, cause, line, nbytes, count = columns
        return EventLog(
            tuple(self._tracks),
            tuple(self._names),
            track,
            name,
            start,
            end,
            cause,
            line,
            nbytes,
            count,
            tuple(self._flows),
            dict(self._details),
            self._clock_mhz,
        )


def cause_ids(causes: Sequence[Cause]) -> NDArray[np.int64]:
    """Ids of causes for `EventLogBuilder.extend`."""
    return np.array([CAUSE_ID[cause] for cause in causes], dtype=np.int64)
