"""Chrome/Perfetto JSON traces: complete ("X") slices, counters, flow arrows; times in microseconds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hw.events import CAUSES, EventLog, RegionTime
from hw.trace.atomic import replacing
from hw.trace.lanes import Ints, Lane, bandwidth_steps, nanoseconds, split_lanes, with_regions

_BATCH = 1 << 16


def write_chrome(
    events: EventLog,
    path: str | os.PathLike[str],
    *,
    regions: Sequence[RegionTime] = (),
    metadata: Mapping[str, object] | None = None,
) -> int:
    """Write `events` (and `regions` as a layers track) as JSON, gzipped if `path` ends in `.gz`; returns the slices.

    Exact cycles stand in the args of every slice (`cycle`, `cycles`); `ts` and `dur` are whole nanoseconds.  `metadata`
    goes to `otherData`.  The file appears at once and complete.
    """
    log = with_regions(events, regions)
    lanes = split_lanes(log)
    other = {"clock_mhz": log.clock_mhz, **(metadata or {})}
    with replacing(path) as out:
        head = f'{{"displayTimeUnit":"ns","otherData":{json.dumps(other, default=str)},"traceEvents":[\n'
        out.write(head.encode())
        separator = b""
        for batch in _batched(_records(log, lanes)):
            out.write(separator + ",\n".join(batch).encode())
            separator = b",\n"
        out.write(b"\n]}\n")
    return len(log)


def _batched(records: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for record in records:
        batch.append(record)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def microseconds(ns: Ints) -> NDArray[np.float64]:
    """Nanoseconds as microseconds such that `int(us * 1000)` gives the nanoseconds back: viewers truncate."""
    us = ns / 1000.0
    low = np.floor(us * 1000.0) < ns
    return np.where(low, np.nextafter(us, np.inf), us)


def _records(log: EventLog, lanes: Sequence[Lane]) -> Iterator[str]:
    processes = {name: pid for pid, name in enumerate(dict.fromkeys(lane.track.process for lane in lanes), start=1)}
    for name, pid in processes.items():
        yield _metadata("process_name", pid, 0, {"name": name})
    names = [json.dumps(name) for name in log.names]
    where: dict[int, str] = {}
    flow_rows = {row for flow in log.flows for row in (flow.source, flow.target)}
    for tid, lane in enumerate(lanes, start=1):
        pid = processes[lane.track.process]
        yield _metadata("thread_name", pid, tid, {"name": lane.title})
        yield _metadata("thread_sort_index", pid, tid, {"sort_index": tid})
        place = f'"pid":{pid},"tid":{tid}'
        where.update((row, place) for row in flow_rows.intersection(lane.rows.tolist()))
        yield from _slices(log, lane, names, place)
        if lane.track.counter and lane.number == 0:
            yield from _counter(log, lane, pid)
    yield from _flows(log, where)


def _metadata(kind: str, pid: int, tid: int, args: Mapping[str, object]) -> str:
    return json.dumps({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}, separators=(",", ":"))


def _slices(log: EventLog, lane: Lane, names: Sequence[str], place: str) -> Iterator[str]:
    rows = lane.rows
    start_ns, end_ns = nanoseconds(log.start[rows], log.clock_mhz), nanoseconds(log.end[rows], log.clock_mhz)
    columns: Iterable[tuple[int, int, float, float, int, int, int, int, int, int]] = zip(
        rows.tolist(),
        log.name[rows].tolist(),
        microseconds(start_ns).tolist(),
        microseconds(end_ns - start_ns).tolist(),
        log.start[rows].tolist(),
        (log.end[rows] - log.start[rows]).tolist(),
        log.cause[rows].tolist(),
        log.line[rows].tolist(),
        log.nbytes[rows].tolist(),
        log.count[rows].tolist(),
        strict=True,
    )
    causes = [cause.value for cause in CAUSES]
    details = log.details
    for row, name, ts, dur, cycle, cycles, cause, line, nbytes, count in columns:
        facts = json.dumps(details[row], separators=(",", ":"))[1:-1] if row in details else ""
        yield (
            f'{{"ph":"X",{place},"name":{names[name]},"cat":"{causes[cause]}","ts":{ts!r},"dur":{dur!r},"args":'
            f'{{"cycle":{cycle},"cycles":{cycles},"cause":"{causes[cause]}","line":{line},"bytes":{nbytes},"count":{count}'
            f"{',' if facts else ''}{facts}}}}}"
        )


def _counter(log: EventLog, lane: Lane, pid: int) -> Iterator[str]:
    steps = bandwidth_steps(log, lane)
    times = microseconds(nanoseconds(np.array([cycle for cycle, _ in steps], dtype=np.int64), log.clock_mhz))
    for ts, (_, rate) in zip(times.tolist(), steps, strict=True):
        yield json.dumps(
            {"ph": "C", "pid": pid, "name": lane.track.counter, "ts": ts, "args": {"GB/s": rate}}, separators=(",", ":")
        )


def _flows(log: EventLog, where: Mapping[int, str]) -> Iterator[str]:
    """Two events per arrow: it leaves in the last nanosecond of the source and enters where the target starts."""
    if not log.flows:
        return
    sources = np.array([flow.source for flow in log.flows], dtype=np.int64)
    targets = np.array([flow.target for flow in log.flows], dtype=np.int64)
    begin, end = nanoseconds(log.start[sources], log.clock_mhz), nanoseconds(log.end[sources], log.clock_mhz)
    leave = microseconds(np.maximum(begin, end - 1)).tolist()
    enter = microseconds(nanoseconds(log.start[targets], log.clock_mhz)).tolist()
    for number, flow in enumerate(log.flows):
        common = f'"cat":"flow","name":"mv to wait","id":{number + 1}'
        yield f'{{"ph":"s",{common},{where[flow.source]},"ts":{leave[number]!r}}}'
        yield f'{{"ph":"f","bp":"e",{common},{where[flow.target]},"ts":{enter[number]!r}}}'
