"""Perfetto protobuf traces (`.pb`), written without the Perfetto package.

Field numbers are those of the public Perfetto trace schema (trace_packet.proto, track_event.proto,
track_descriptor.proto, interned_data.proto).  Names and annotation names are interned once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hw.events import CAUSES, Counter, EventLog, RegionTime
from hw.trace.atomic import replacing
from hw.trace.counters import standard_counters
from hw.trace.lanes import Ints, Lane, nanoseconds, split_lanes, with_regions
from hw.trace.wire import (
    Bytes2D,
    column_int,
    column_message,
    columns,
    field_bytes,
    field_double,
    field_fixed64,
    field_int,
)

_PACKET = 1  # Trace.packet
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _INTERNED, _FLAGS, _DESCRIPTOR = 8, 10, 11, 12, 13, 60  # TracePacket
_EVENT_CATEGORY, _EVENT_ANNOTATION, _EVENT_TYPE, _EVENT_NAME, _EVENT_TRACK = 3, 4, 9, 10, 11  # TrackEvent
_EVENT_DOUBLE, _EVENT_FLOW, _EVENT_FLOW_END, _EVENT_NAME_TEXT = 44, 47, 48, 23
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_NEEDS_STATE, _STATE_CLEARED = 2, 1  # TracePacket.SequenceFlags

_BATCH = 1 << 16
_ANNOTATIONS = ("cycle", "cycles", "line", "bytes", "count")
_TIME_WIDTH, _VALUE_WIDTH, _ID_WIDTH = 8, 7, 4  # bytes of padded varints: 56, 49 and 28 bits


def write_perfetto(
    events: EventLog,
    path: str | os.PathLike[str],
    *,
    regions: Sequence[RegionTime] = (),
    counters: Sequence[Counter] = (),
    metadata: Mapping[str, object] | None = None,
) -> int:
    """Write `events` (and `regions` as a layers track) as Perfetto protobuf; returns the number of slices.

    Slices carry their cycles, source line, bytes and merged steps as arguments and their cause as category; `counters`
    come in addition to those that the tracks ask for; `metadata` becomes the arguments of an instant event at time 0.
    gzipped if `path` ends in `.gz`.
    """
    log = with_regions(events, regions)
    lanes = split_lanes(log)
    with replacing(path) as out:
        facts = {"clock_mhz": log.clock_mhz, **(metadata or {})}
        for chunk in _Writer(log, lanes).chunks((*standard_counters(log, lanes), *counters), facts):
            out.write(chunk)
    return len(log)


def _packet(body: bytes, flags: int = _NEEDS_STATE) -> bytes:
    return field_bytes(_PACKET, field_int(_SEQUENCE, 1) + field_int(_FLAGS, flags) + body)


def _entries(number: int, names: Sequence[str]) -> bytes:
    return b"".join(
        field_bytes(number, field_int(1, iid) + field_bytes(2, name)) for iid, name in enumerate(names, start=1)
    )


def _annotation(name: bytes, value: object) -> bytes:
    """An argument; `name` is the field that names it."""
    body = field_int(4, value) if isinstance(value, int) and value >= 0 else field_bytes(6, str(value))
    return field_bytes(_EVENT_ANNOTATION, name + body)


class _Writer:
    """The packets of one trace."""

    def __init__(self, log: EventLog, lanes: Sequence[Lane]) -> None:
        self._log = log
        self._lanes = lanes
        self._next_uuid = 1
        self._parents: dict[tuple[str, ...], int] = {}
        self._flows_from: dict[int, list[int]] = {}
        self._flows_to: dict[int, list[int]] = {}
        for number, flow in enumerate(log.flows, start=1):
            self._flows_from.setdefault(flow.source, []).append(number)
            self._flows_to.setdefault(flow.target, []).append(number)
        details = dict.fromkeys(name for facts in log.details.values() for name in facts)
        self._annotations = list(dict.fromkeys((*_ANNOTATIONS, *details)))
        self._named = {name: field_int(1, iid) for iid, name in enumerate(self._annotations, start=1)}
        special = {*log.details, *self._flows_from, *self._flows_to}
        self._special = np.zeros(len(log), dtype=np.bool_)
        self._special[list(special)] = True

    def chunks(self, counters: Sequence[Counter], metadata: Mapping[str, object]) -> Iterator[bytes]:
        """The whole file, piece by piece."""
        interned = _entries(1, [cause.value for cause in CAUSES])
        interned += _entries(2, self._log.names) + _entries(3, self._annotations)
        yield _packet(field_bytes(_INTERNED, interned), _NEEDS_STATE | _STATE_CLEARED)
        for lane in self._lanes:
            pieces: list[bytes] = []
            parent = self._parent(lane.track.process, lane.track.group, lane.track.name, pieces)
            uuid = self._new_uuid()
            pieces.append(self._descriptor(uuid, lane.title, parent))
            if lane.track.group == lane.title:  # the other tracks of its group hang below it
                self._parents[(lane.track.process, lane.track.group)] = uuid
            yield b"".join(pieces)
            yield from self._slices(lane, uuid)
        for counter in counters:
            yield self._counter(counter)
        if self._parents:
            arguments = b"".join(_annotation(field_bytes(10, name), value) for name, value in metadata.items())
            process = min(self._parents.values())
            yield self._event(0, _INSTANT, process, field_bytes(_EVENT_NAME_TEXT, "metadata") + arguments)

    def _new_uuid(self) -> int:
        self._next_uuid += 1
        return self._next_uuid

    def _descriptor(self, uuid: int, name: str, parent: int | None, extra: bytes = b"") -> bytes:
        body = field_int(1, uuid) + field_bytes(2, name) + extra + field_int(11, 3)  # children in explicit order
        if parent is not None:
            body += field_int(5, parent) + field_int(12, uuid)  # rank among siblings: order of creation
        return _packet(field_bytes(_DESCRIPTOR, body))

    def _parent(self, process: str, group: str, name: str, pieces: list[bytes]) -> int:
        """Uuid of the heading of a track, described on first use."""
        top = self._parents.get((process,))
        if top is None:
            top = self._parents[(process,)] = self._new_uuid()
            number = sum(len(key) == 1 for key in self._parents)
            described = field_bytes(3, field_int(1, number) + field_bytes(6, process))
            pieces.append(self._descriptor(top, process, None, described))
        if not group or group == name:
            return top
        key = (process, group)
        if key not in self._parents:
            self._parents[key] = self._new_uuid()
            pieces.append(self._descriptor(self._parents[key], group, top))
        return self._parents[key]

    def _event(self, ns: int, kind: int, uuid: int, extra: bytes = b"") -> bytes:
        event = field_int(_EVENT_TYPE, kind) + field_int(_EVENT_TRACK, uuid) + extra
        return _packet(field_int(_TIMESTAMP, ns) + field_bytes(_TRACK_EVENT, event))

    def _slices(self, lane: Lane, uuid: int) -> Iterator[bytes]:
        """Begin and end packets in order: all rows as one matrix, in which rows with flows or details are replaced."""
        for first in range(0, len(lane.rows), _BATCH):
            rows = lane.rows[first : first + _BATCH]
            plain = self._plain(rows, uuid)
            packets, size = plain.tobytes(), plain.shape[1]
            begin = 0
            for position in np.flatnonzero(self._special[rows]).tolist():
                yield packets[begin * size : position * size]
                yield self._single(int(rows[position]), uuid)
                begin = position + 1
            yield packets[begin * size :]

    def _plain(self, rows: Ints, uuid: int) -> Bytes2D:
        """The packets of every row side by side."""
        log, count = self._log, len(rows)
        start, end = log.start[rows], log.end[rows]
        values = (start, end - start, log.line[rows], log.nbytes[rows], log.count[rows])
        annotations = [
            columns([field_int(1, i), column_int(4, v, _VALUE_WIDTH)], count) for i, v in enumerate(values, 1)
        ]
        begin = columns(
            [
                field_int(_EVENT_TYPE, _BEGIN) + field_int(_EVENT_TRACK, uuid),
                column_int(_EVENT_NAME, log.name[rows] + 1, _ID_WIDTH),
                column_int(_EVENT_CATEGORY, log.cause[rows] + 1, 1),
                *(column_message(_EVENT_ANNOTATION, annotation) for annotation in annotations),
            ],
            count,
        )
        finish = columns([field_int(_EVENT_TYPE, _END) + field_int(_EVENT_TRACK, uuid)], count)
        common = field_int(_SEQUENCE, 1) + field_int(_FLAGS, _NEEDS_STATE)
        packets = []
        for cycles, body in ((start, begin), (end, finish)):
            time = column_int(_TIMESTAMP, nanoseconds(cycles, log.clock_mhz), _TIME_WIDTH)
            event = columns([common, time, column_message(_TRACK_EVENT, body)], count)
            packets.append(column_message(_PACKET, event))
        return columns(packets, count)

    def _single(self, row: int, uuid: int) -> bytes:
        log = self._log
        start, end = int(log.start[row]), int(log.end[row])
        values = (start, end - start, int(log.line[row]), int(log.nbytes[row]), int(log.count[row]))
        extra = field_int(_EVENT_NAME, int(log.name[row]) + 1) + field_int(_EVENT_CATEGORY, int(log.cause[row]) + 1)
        for iid, value in enumerate(values, start=1):
            extra += field_bytes(_EVENT_ANNOTATION, field_int(1, iid) + field_int(4, value))
        extra += b"".join(_annotation(self._named[name], value) for name, value in log.details.get(row, {}).items())
        extra += b"".join(field_fixed64(_EVENT_FLOW, flow) for flow in self._flows_from.get(row, ()))
        extra += b"".join(field_fixed64(_EVENT_FLOW_END, flow) for flow in self._flows_to.get(row, ()))
        begin_ns, end_ns = nanoseconds(np.array([start, end], dtype=np.int64), log.clock_mhz).tolist()
        return self._event(begin_ns, _BEGIN, uuid, extra) + self._event(end_ns, _END, uuid)

    def _counter(self, counter: Counter) -> bytes:
        pieces: list[bytes] = []
        parent = self._parent(counter.process, counter.group, counter.name, pieces)
        uuid = self._new_uuid()
        pieces.append(self._descriptor(uuid, counter.name, parent, field_bytes(8, field_bytes(6, counter.unit))))
        times = nanoseconds(counter.cycles, self._log.clock_mhz).tolist()
        for ns, value in zip(times, counter.values.tolist(), strict=True):
            pieces.append(self._event(ns, _COUNTER, uuid, field_double(_EVENT_DOUBLE, value)))
        return b"".join(pieces)
