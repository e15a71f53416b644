"""Spans of host work as a Perfetto trace, read back by a reader that knows no schema."""

from __future__ import annotations

from hw.trace.spans import Span, perfetto_spans
from tests.trace.protobuf import Message


def test_nested_spans_of_two_threads() -> None:
    spans = [
        Span("inner", "host", 10, 20, 7, 1, {"cycles": 5260}),
        Span("outer", "host", 10, 30, 7, 1, {"note": "a"}),
        Span("other", "host", 15, 15, 7, 2, {}),
    ]
    packets = Message(perfetto_spans(spans)).subs(1)
    tracks = [packet.sub(60) for packet in packets if 60 in packet]
    assert [track.sub(4).number(2) for track in tracks] == [1, 2]
    events = [(packet.number(8), packet.sub(11)) for packet in packets if 11 in packet]
    first = [(time, e.text(23) if 23 in e else "end") for time, e in events if e.number(11) == tracks[0].number(1)]
    assert first == [(10, "outer"), (10, "inner"), (20, "end"), (30, "end")]
    other = [(time, e.number(9)) for time, e in events if e.number(11) == tracks[1].number(1)]
    assert other == [(15, 1), (15, 2)]
    (annotation,) = events[1][1].subs(4)
    assert (annotation.text(10), annotation.number(4)) == ("cycles", 5260)
