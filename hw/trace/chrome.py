"""Chrome/Perfetto JSON traces: complete ("X") slices, counters, flow arrows; times in microseconds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hw.events import CAUSES, Counter, EventLog, RegionTime
from hw.trace.atomic import replacing
from hw.trace.counters import standard_counters
from hw.trace.lanes import Ints, Lane, nanoseconds, split_lanes, with_regions

_BATCH = 1 << 16
_CODE_LIMIT = 1 << 62


def write_chrome(
    events: EventLog,
    path: str | os.PathLike[str],
    *,
    regions: Sequence[RegionTime] = (),
    counters: Sequence[Counter] = (),
    metadata: Mapping[str, object] | None = None,
) -> int:
    """Write `events` (and `regions` as a layers track) as JSON, gzipped if `path` ends in `.gz`; returns the slices.

    Exact cycles stand in the args of every slice (`cycle`, `cycles`); `ts` and `dur` are whole nanoseconds.  `counters`
    come in addition to those that the tracks ask for.  `metadata` goes to `otherData`.  The file appears at once and
    complete.
    """
    log = with_regions(events, regions)
    lanes = split_lanes(log)
    other = {"clock_mhz": log.clock_mhz, **(metadata or {})}
    with replacing(path) as out:
        head = f'{{"displayTimeUnit":"ns","otherData":{json.dumps(other, default=str)},"traceEvents":[\n'
        out.write(head.encode())
        separator = b""
        for batch in _batches(log, lanes, counters):
            out.write(separator + ",\n".join(batch).encode())
            separator = b",\n"
        out.write(b"\n]}\n")
    return len(log)


def microseconds(ns: Ints) -> NDArray[np.float64]:
    """Nanoseconds as microseconds such that `int(us * 1000)` gives the nanoseconds back: viewers truncate."""
    us = ns / 1000.0
    low = np.floor(us * 1000.0) < ns
    return np.where(low, np.nextafter(us, np.inf), us)


def _batches(log: EventLog, lanes: Sequence[Lane], counters: Sequence[Counter]) -> Iterator[list[str]]:
    """All records, in lists that are never empty."""
    tracks = [lane.track.process for lane in lanes] + [counter.process for counter in counters]
    processes = {name: pid for pid, name in enumerate(dict.fromkeys(tracks), start=1)}
    head = [_metadata("process_name", pid, 0, {"name": name}) for name, pid in processes.items()]
    names = [json.dumps(name) for name in log.names]
    where: dict[int, str] = {}
    flow_rows = {row for flow in log.flows for row in (flow.source, flow.target)}
    for tid, lane in enumerate(lanes, start=1):
        pid = processes[lane.track.process]
        head.append(_metadata("thread_name", pid, tid, {"name": lane.title}))
        head.append(_metadata("thread_sort_index", pid, tid, {"sort_index": tid}))
    if head:
        yield head
    for tid, lane in enumerate(lanes, start=1):
        place = f'"pid":{processes[lane.track.process]},"tid":{tid}'
        where.update((row, place) for row in flow_rows.intersection(lane.rows.tolist()))
        for first in range(0, len(lane.rows), _BATCH):
            yield _slices(log, lane.rows[first : first + _BATCH], names, place)
    for counter in (*standard_counters(log, lanes), *counters):
        if len(counter.cycles):
            yield _counter(counter, processes[counter.process], log.clock_mhz)
    if log.flows:
        yield _flows(log, where)


def _metadata(kind: str, pid: int, tid: int, args: Mapping[str, object]) -> str:
    return json.dumps({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}, separators=(",", ":"))


def _slices(log: EventLog, rows: Ints, names: Sequence[str], place: str) -> list[str]:
    """One record per row.  Most rows differ only in start and line, so the text around these is made once per kind."""
    start, end = log.start[rows], log.end[rows]
    start_ns, end_ns = nanoseconds(start, log.clock_mhz), nanoseconds(end, log.clock_mhz)
    rounding = end_ns - start_ns - nanoseconds(end - start, log.clock_mhz)  # -1, 0 or 1
    kinds, kind_of = _distinct(
        [log.name[rows], log.cause[rows], rounding, end - start, log.nbytes[rows], log.count[rows]]
    )
    lasting = np.array([kind[3] for kind in kinds], dtype=np.int64)
    durations = microseconds(nanoseconds(lasting, log.clock_mhz) + np.array([kind[2] for kind in kinds])).tolist()
    heads: list[tuple[str, str, str]] = []
    for (name, cause, _, cycles, nbytes, count), dur in zip(kinds, durations, strict=True):
        label = CAUSES[cause].value
        heads.append(
            (
                f'{{"ph":"X",{place},"name":{names[name]},"cat":"{label}","ts":',
                f',"dur":{dur!r},"args":{{"cycles":{cycles},"cause":"{label}","bytes":{nbytes},"count":{count},"cycle":',
                ',"line":',
            )
        )
    columns = zip(
        kind_of.tolist(), microseconds(start_ns).tolist(), start.tolist(), log.line[rows].tolist(), strict=True
    )
    records = []
    for kind, ts, cycle, line in columns:
        before_ts, before_cycle, before_line = heads[kind]
        records.append(f"{before_ts}{ts!r}{before_cycle}{cycle}{before_line}{line}}}}}")
    if log.details:
        for index, row in enumerate(rows.tolist()):
            if row in log.details:
                records[index] = f"{records[index][:-2]},{_members(log.details[row])}}}}}"
    return records


def _members(facts: Mapping[str, int | str]) -> str:
    """The members of a JSON object, without its braces."""
    return ",".join(
        f"{_quoted(name)}:{value}" if isinstance(value, int) else f"{_quoted(name)}:{_quoted(value)}"
        for name, value in facts.items()
    )


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return json.dumps(text)


def _distinct(columns: Sequence[Ints]) -> tuple[list[tuple[int, ...]], NDArray[np.intp]]:
    """The distinct rows of some columns, and for each row the number of its kind."""
    code, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        low = int(column.min(initial=0))
        span = int(column.max(initial=0)) - low + 1
        if size * span > _CODE_LIMIT:  # number what was seen so far, so that nothing overflows
            seen, code = np.unique(code, return_inverse=True)
            size = len(seen)
        code, size = code * span + (column - low), size * span
    _, first, kind_of = np.unique(code, return_index=True, return_inverse=True)
    return list(zip(*(column[first].tolist() for column in columns), strict=True)), kind_of


def _counter(counter: Counter, pid: int, clock_mhz: float) -> list[str]:
    name, unit = json.dumps(counter.name), json.dumps(counter.unit)
    times = microseconds(nanoseconds(counter.cycles, clock_mhz)).tolist()
    return [
        f'{{"ph":"C","pid":{pid},"name":{name},"ts":{ts!r},"args":{{{unit}:{value!r}}}}}'
        for ts, value in zip(times, counter.values.tolist(), strict=True)
    ]


def _flows(log: EventLog, where: Mapping[int, str]) -> list[str]:
    """Two events per arrow: it leaves in the last nanosecond of the source and enters where the target starts."""
    sources = np.array([flow.source for flow in log.flows], dtype=np.int64)
    targets = np.array([flow.target for flow in log.flows], dtype=np.int64)
    begin, end = nanoseconds(log.start[sources], log.clock_mhz), nanoseconds(log.end[sources], log.clock_mhz)
    leave = microseconds(np.maximum(begin, end - 1)).tolist()
    enter = microseconds(nanoseconds(log.start[targets], log.clock_mhz)).tolist()
    records = []
    for number, flow in enumerate(log.flows):
        common = f'"cat":"flow","name":"mv to wait","id":{number + 1}'
        records.append(f'{{"ph":"s",{common},{where[flow.source]},"ts":{leave[number]!r}}}')
        records.append(f'{{"ph":"f","bp":"e",{common},{where[flow.target]},"ts":{enter[number]!r}}}')
    return records
