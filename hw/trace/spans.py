"""Named spans of threads, e.g. of host work, as a Perfetto protobuf trace; small traces, no interning.

Field numbers are those of the public Perfetto trace schema (trace_packet.proto, track_event.proto,
track_descriptor.proto, thread_descriptor.proto).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hw.trace.wire import field_bytes, field_int

_PACKET, _TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _DESCRIPTOR = 1, 8, 10, 11, 60
_UUID, _TRACK_NAME, _THREAD, _PID, _TID = 1, 2, 4, 1, 2
_TYPE, _TRACK, _CATEGORY, _NAME, _ANNOTATION = 9, 11, 22, 23, 4
_ANNOTATION_NAME, _ANNOTATION_INT, _ANNOTATION_TEXT = 10, 4, 6
_BEGIN, _END = 1, 2


@dataclass(frozen=True)
class Span:
    """`begin` and `end` in nanoseconds from the start of the trace; `args` are shown with the span."""

    name: str
    category: str
    begin: int
    end: int
    pid: int
    tid: int
    args: Mapping[str, object]


def perfetto_spans(spans: Iterable[Span]) -> bytes:
    """The trace file; spans of one thread must be nested or apart."""
    known = list(spans)
    threads = sorted({(span.pid, span.tid) for span in known})
    packets = [_descriptor(number, *thread) for number, thread in enumerate(threads, start=1)]
    track = {thread: number for number, thread in enumerate(threads, start=1)}
    edges = []
    for order, span in enumerate(known):
        uuid = track[span.pid, span.tid]
        duration = span.end - span.begin
        # At one instant, ends come before begins, inner ends before outer ones and outer begins before inner ones.
        edges.append((span.begin, 1, -duration, order, _event(_BEGIN, uuid, span)))
        edges.append((span.end, 0 if duration else 2, -span.begin, -order, _event(_END, uuid, span)))
    return b"".join(packets + [packet for *_, packet in sorted(edges, key=lambda edge: edge[:4])])


def _packet(body: bytes) -> bytes:
    return field_bytes(_PACKET, field_int(_SEQUENCE, 1) + body)


def _descriptor(uuid: int, pid: int, tid: int) -> bytes:
    thread = field_bytes(_THREAD, field_int(_PID, pid) + field_int(_TID, tid))
    return _packet(field_bytes(_DESCRIPTOR, field_int(_UUID, uuid) + field_bytes(_TRACK_NAME, f"host {tid}") + thread))


def _event(kind: int, uuid: int, span: Span) -> bytes:
    body = field_int(_TYPE, kind) + field_int(_TRACK, uuid)
    if kind == _BEGIN:
        body += field_bytes(_CATEGORY, span.category) + field_bytes(_NAME, span.name)
        body += b"".join(field_bytes(_ANNOTATION, _argument(name, value)) for name, value in span.args.items())
    return _packet(field_int(_TIMESTAMP, span.begin if kind == _BEGIN else span.end) + field_bytes(_TRACK_EVENT, body))


def _argument(name: str, value: object) -> bytes:
    if isinstance(value, int) and value >= 0:
        return field_bytes(_ANNOTATION_NAME, name) + field_int(_ANNOTATION_INT, value)
    return field_bytes(_ANNOTATION_NAME, name) + field_bytes(_ANNOTATION_TEXT, str(value))
