"""The real trace processor, in the Perfetto UI, reads both trace forms and counts what the event log holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hw.events import EventLog
from hw.model import Timing, simulate
from hw.trace import with_regions, write_chrome, write_perfetto
from runtime.studies.eval_step import eval_step_program
from tests.browser import perfetto_ui
from tests.browser.perfetto_ui import Ui, picture

_MISSING = perfetto_ui.missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_MISSING is not None, reason=f"browser test: {_MISSING}"),
]

BY_TRACK = """
select {track} as track, count(*), sum(s.dur) from slice s {join} where s.name != 'metadata' group by track
"""
PROTOBUF = BY_TRACK.format(track="t.name", join="join track t on s.track_id = t.id")
CHROME = BY_TRACK.format(track="thread.name", join="join thread_track t on s.track_id = t.id join thread using (utid)")
ARGUMENT = "select sum(int_value) from slice join args using (arg_set_id) where key in ('args.{0}', 'debug.{0}')"


@pytest.fixture(scope="module")
def timing() -> Timing:
    return simulate(eval_step_program())


@pytest.fixture(scope="module")
def log(timing: Timing) -> EventLog:
    """All slices that a trace holds: the events and the layers."""
    return with_regions(timing.events, timing.regions)


def nanoseconds(log: EventLog) -> np.ndarray:
    """Durations as viewers keep them: whole nanoseconds between rounded ends."""
    scale = 1000.0 / log.clock_mhz
    return np.rint(log.end * scale).astype(np.int64) - np.rint(log.start * scale).astype(np.int64)


def expected(log: EventLog) -> dict[str, list[int]]:
    """Count and total nanoseconds by track."""
    counts: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for track, duration in zip(log.track.tolist(), nanoseconds(log).tolist(), strict=True):
        counts[log.tracks[track].name] += 1
        totals[log.tracks[track].name] += duration
    return {name: [counts[name], totals[name]] for name in counts}


def by_track(ui: Ui, sql: str) -> dict[str, list[int]]:
    """The same from the trace processor; further rows of a track (`name #2`) belong to it."""
    found: dict[str, list[int]] = {}
    for track, count, total in ui.query(sql):
        sums = found.setdefault(track.split(" #")[0], [0, 0])
        sums[0] += count
        sums[1] += total
    return found


def check(ui: Ui, log: EventLog, timing: Timing, sql: str) -> None:
    assert by_track(ui, sql) == expected(log)
    assert ui.query("select count(*) from flow") == [[len(log.flows)]]
    assert ui.query(ARGUMENT.format("cycles")) == [[int((log.end - log.start).sum())]]
    assert ui.query(ARGUMENT.format("bytes")) == [[int(log.nbytes.sum())]]
    layers = by_track(ui, sql)["layers"]
    assert layers == [len(timing.regions), round(timing.cycles * 1000 / log.clock_mhz)]
    assert ui.query("select count(*) from stats where severity = 'error' and value > 0") == [[0]]
    assert not [url for url in ui.outside if not url.startswith("http://127.0.0.1")]


@pytest.mark.parametrize("name", ["trace.pb", "trace.pb.gz"])
def test_protobuf(tmp_path: Path, log: EventLog, timing: Timing, name: str) -> None:
    write_perfetto(timing.events, tmp_path / name, regions=timing.regions)
    with perfetto_ui.perfetto_ui(tmp_path / name) as ui:
        check(ui, log, timing, PROTOBUF)
        causes = dict(ui.query("select category, count(*) from slice where name != 'metadata' group by category"))
        assert sum(causes.values()) == len(log)


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_chrome_json(tmp_path: Path, log: EventLog, timing: Timing, name: str) -> None:
    write_chrome(timing.events, tmp_path / name, regions=timing.regions)
    with perfetto_ui.perfetto_ui(tmp_path / name) as ui:
        check(ui, log, timing, CHROME)


def test_detailed_trace(tmp_path: Path) -> None:
    timing = simulate(eval_step_program(), detail=True)
    write_perfetto(timing.events, tmp_path / "trace.pb", regions=timing.regions)
    with perfetto_ui.perfetto_ui(tmp_path / "trace.pb") as ui:
        check(ui, with_regions(timing.events, timing.regions), timing, PROTOBUF)


def test_picture(tmp_path: Path, timing: Timing) -> None:
    write_perfetto(timing.events, tmp_path / "trace.pb", regions=timing.regions)
    picture(tmp_path / "trace.pb", tmp_path / "picture.png")
    data = (tmp_path / "picture.png").read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 50_000
