"""The columnar log: building, columns, appending one log to another."""

from __future__ import annotations

import numpy as np
import pytest

from hw.events import Cause, EventLogBuilder, Flow, Track, cause_ids


def test_rows_come_back_as_they_were_added() -> None:
    builder = EventLogBuilder(100.0)
    a, b = builder.track(Track("board", "g", "a")), builder.track(Track("board", "g", "b"))
    late = builder.add(a, "late", 8, 12, Cause.DRAIN, line=3, nbytes=16, details={"tag": "i01"})
    ids = np.array([builder.name("x"), builder.name("y")], dtype=np.int64)
    steps = np.array([0, 4], dtype=np.int64)
    first = builder.extend(b, ids, steps, steps + 4, cause_ids([Cause.COMPUTE])[0], steps + 1, 0, np.array([1, 1]))
    early = builder.add(a, "early", 0, 8)
    builder.flow(late, first + 1)
    log = builder.freeze()
    assert (late, first, early, len(log), log.clock_mhz) == (0, 1, 3, 4, 100.0)
    assert log.flows == (Flow(0, 2),)
    assert [row["name"] for row in log.rows("a")] == ["early", "late"]
    assert log.rows("a")[1] == {
        "track": "a",
        "name": "late",
        "start": 8,
        "end": 12,
        "cause": "drain",
        "line": 3,
        "bytes": 16,
        "count": 1,
        "tag": "i01",
    }
    assert [(row["name"], row["cause"], row["line"]) for row in log.rows("b")] == [
        ("x", "compute", 1),
        ("y", "compute", 5),
    ]
    assert log.busy() == {"a": 12, "b": 8}


def test_columns_are_read_only() -> None:
    builder = EventLogBuilder()
    builder.add(builder.track(Track("board", "", "a")), "x", 0, 4)
    with pytest.raises(ValueError, match="read-only"):
        builder.freeze().start[0] = 1


def test_append_shifts_and_renumbers() -> None:
    part = EventLogBuilder()
    a, b = (part.track(Track("board", "", name)) for name in "ab")
    part.flow(part.add(a, "one", 0, 4, details={"k": 1}), part.add(b, "two", 4, 8))
    once = part.freeze()
    whole = EventLogBuilder()
    whole.add(whole.track(Track("host", "", "python")), "call", 0, 50)
    whole.append(once)
    whole.append(once, 20)
    log = whole.freeze()
    assert [track.name for track in log.tracks] == ["python", "a", "b"]
    assert log.start.tolist() == [0, 0, 4, 20, 24]
    assert log.flows == (Flow(1, 2), Flow(3, 4))
    assert set(log.details) == {1, 3}
    assert [row["start"] for row in log.rows("b")] == [4, 24]


def test_append_can_name_another_board() -> None:
    part = EventLogBuilder()
    part.add(part.track(Track("board 0", "g", "a")), "one", 0, 4)
    whole = EventLogBuilder()
    whole.append(part.freeze())
    whole.append(part.freeze(), process="board 1")
    log = whole.freeze()
    assert log.tracks == (Track("board 0", "g", "a"), Track("board 1", "g", "a"))
    assert log.track.tolist() == [0, 1]
