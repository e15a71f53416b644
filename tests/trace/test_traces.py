"""Chrome JSON and Perfetto protobuf traces: complete, nested, in step with the log."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hw.events import Counter, EventLogBuilder, Track
from hw.model import Timing, receive, send, simulate
from hw.program import Line, MvForm, Region
from hw.spec import ChipSpec
from hw.trace import write_chrome, write_perfetto
from hw.trace.chrome import microseconds
from hw.trace.counters import window_cycles
from tests.model.programs import ALU, MAU, d_l, dram, l2bm, load, mv, nop, p_d, p_l, program, step
from tests.trace.protobuf import Message, messages


def _timing(*, detail: bool = False, pipelined: bool = False) -> Timing:
    lines: list[Line] = [
        d_l(640, 0, tag=1),
        d_l(640, 0, 1),
        p_l(640, 1, tag=2),
        *[step(ALU, MAU)] * 3,
        step(ALU, load()),
        nop(wait=1),
        mv(MvForm.B4, 640, dram(), l2bm()),
        p_d(64, 2),
        *[step(MAU)] * 5,
        nop(wait=2),
        step(load()),
    ]
    spec = ChipSpec.load({"mv.pipelined_latency": pipelined})
    return simulate(program(*lines, regions=(Region(3, "Gemm_0"), Region(10, "Relu_1"))), spec, detail=detail)


@pytest.fixture(params=["summary", "detail", "pipelined"])
def timing(request: pytest.FixtureRequest) -> Timing:
    return _timing(detail=request.param == "detail", pipelined=request.param == "pipelined")


@pytest.fixture
def records(timing: Timing, tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "trace.json"
    count = write_chrome(timing.events, path, regions=timing.regions, metadata={"program": "test"})
    document = json.loads(path.read_text())
    assert document["displayTimeUnit"] == "ns"
    assert document["otherData"] == {"clock_mhz": 750.0, "program": "test"}
    assert count == len(timing.events) + len(timing.regions)
    traced: list[dict[str, Any]] = document["traceEvents"]
    assert sum(r["ph"] == "X" for r in traced) == count
    return traced


def _nanoseconds(microseconds_: float) -> int:
    return int(microseconds_ * 1000.0)  # as viewers do


def test_slices_do_not_overlap_and_tell_their_cycles(records: list[dict[str, Any]], timing: Timing) -> None:
    rows: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if record["ph"] == "X":
            rows[record["pid"], record["tid"]].append(record)
    for slices in rows.values():
        end = 0
        for record in slices:
            ts, dur = _nanoseconds(record["ts"]), _nanoseconds(record["dur"])
            args = record["args"]
            assert dur >= 0
            assert ts >= end
            end = ts + dur
            assert ts == round(args["cycle"] * 1000 / 750)
            assert end == round((args["cycle"] + args["cycles"]) * 1000 / 750)
            assert args["cause"] == record["cat"]
    assert max(r["args"]["cycle"] + r["args"]["cycles"] for s in rows.values() for r in s) == timing.cycles


def test_tracks_have_names_and_an_order(records: list[dict[str, Any]]) -> None:
    named = {(r["pid"], r["tid"]): r["args"]["name"] for r in records if r["name"] == "thread_name"}
    order = {(r["pid"], r["tid"]): r["args"]["sort_index"] for r in records if r["name"] == "thread_sort_index"}
    assert {(r["pid"], r["tid"]) for r in records if r["ph"] == "X"} == set(named) == set(order)
    titles = [named[key] for key in sorted(named, key=lambda key: order[key])]
    assert titles[:5] == ["layers", "PE stream", "ALU", "MAU", "L1BM"]
    assert {"MV g0", "MV g3", "DRAM g0", "PDM g2", "ring"} <= set(titles)
    assert [r["args"]["name"] for r in records if r["name"] == "process_name"] == ["board 0"]


def test_layers_partition_the_run(records: list[dict[str, Any]], timing: Timing) -> None:
    tid = next(r["tid"] for r in records if r["name"] == "thread_name" and r["args"]["name"] == "layers")
    layers = [r for r in records if r["ph"] == "X" and r["tid"] == tid]
    assert [r["name"] for r in layers] == ["(before the first layer)", "Gemm_0", "Relu_1"]
    assert sum(r["args"]["cycles"] for r in layers) == timing.cycles


def test_flows_lead_from_an_mv_to_the_line_that_waited(records: list[dict[str, Any]], timing: Timing) -> None:
    starts = {r["id"]: r for r in records if r["ph"] == "s"}
    ends = {r["id"]: r for r in records if r["ph"] == "f"}
    assert set(starts) == set(ends) == set(range(1, len(timing.events.flows) + 1))
    assert len(starts) == 2
    for number, leave in starts.items():
        source, target = _enclosing(records, leave), _enclosing(records, ends[number])
        assert source["args"]["tag"] in ("i01", "i02")
        assert target["args"]["cause"] == "wait_step"
        assert _nanoseconds(leave["ts"]) < _nanoseconds(ends[number]["ts"])
        assert source["args"]["cycle"] + source["args"]["cycles"] <= target["args"]["cycle"]


def _enclosing(records: list[dict[str, Any]], flow: dict[str, Any]) -> dict[str, Any]:
    at = _nanoseconds(flow["ts"])
    found = [
        r
        for r in records
        if r["ph"] == "X"
        and (r["pid"], r["tid"]) == (flow["pid"], flow["tid"])
        and _nanoseconds(r["ts"]) <= at < _nanoseconds(r["ts"]) + _nanoseconds(r["dur"])
    ]
    assert len(found) == 1
    return found[0]


def test_the_bandwidth_counter_integrates_to_the_bytes(records: list[dict[str, Any]], timing: Timing) -> None:
    for group in range(4):
        steps = [r for r in records if r["ph"] == "C" and r["name"] == f"DRAM g{group} bandwidth"]
        area = sum(a["args"]["GB/s"] * (b["ts"] - a["ts"]) * 1000 for a, b in pairwise(steps))
        # Times are rounded to nanoseconds; a burst of 40 cycles or more is off by less than 3 %.
        assert area == pytest.approx(timing.bytes_by_link[f"DRAM g{group}"], rel=0.03)
        assert all(0 <= r["args"]["GB/s"] <= 128 for r in steps)


def test_the_utilisation_counter_integrates_to_the_busy_cycles(records: list[dict[str, Any]], timing: Timing) -> None:
    steps = [r for r in records if r["ph"] == "C" and r["name"] == "MAU utilisation"]
    assert all(0 <= r["args"]["%"] <= 100 for r in steps)
    windows = [(round(a["ts"] * 750), round(b["ts"] * 750)) for a, b in pairwise(steps)]
    assert {end - start for start, end in windows[:-1]} == {64}  # cycles
    area = sum(r["args"]["%"] / 100 * (b - a) for r, (a, b) in zip(steps, windows, strict=False))
    assert area == pytest.approx(timing.by_unit["MAU"], rel=0.01)


def _with_counter(timing: Timing) -> Counter:
    half = timing.cycles // 2
    return Counter("board 0", "local memory", "LM0 occupancy", "LW", np.array([0, half]), np.array([12.0, 30.5]))


def test_further_counters_go_into_both_forms(timing: Timing, tmp_path: Path) -> None:
    counter = _with_counter(timing)
    write_chrome(timing.events, tmp_path / "t.json", counters=[counter])
    traced = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    found = [(r["ts"], r["args"]) for r in traced if r["ph"] == "C" and r["name"] == "LM0 occupancy"]
    assert [args for _, args in found] == [{"LW": 12.0}, {"LW": 30.5}]
    assert _nanoseconds(found[1][0]) == round(timing.cycles // 2 * 1000 / 750)
    write_perfetto(timing.events, tmp_path / "t.pb", counters=[counter])
    packets = messages((tmp_path / "t.pb").read_bytes())
    tracks = {p.sub(60).text(2): p.sub(60) for p in packets if 60 in p}
    track = tracks["LM0 occupancy"]
    assert track.sub(8).text(6) == "LW"
    assert track.number(5) == tracks["local memory"].number(1)
    values = [e.double(44) for p in packets if 11 in p and (e := p.sub(11)).number(11) == track.number(1)]
    assert values == [12.0, 30.5]


def test_host_links_and_transfers_have_tracks(tmp_path: Path) -> None:
    spec = ChipSpec.load({"stream.finite": 1, "host.pcie_bandwidth": 8})
    timing = simulate(program(nop(wait=1), *[step(ALU)] * 30), spec, host=[send(8192, tag=1), receive(64)])
    write_chrome(timing.events, tmp_path / "t.json")
    traced = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    titles = {r["args"]["name"] for r in traced if r["name"] == "thread_name"}
    assert {"PCIe down", "PCIe up", "PDM g0", "DMA"} <= titles
    assert [r["args"]["name"] for r in traced if r["name"] == "process_name"] == ["board 0", "host"]
    assert len([r for r in traced if r["ph"] == "s"]) == 1
    assert {r["name"] for r in traced if r["ph"] == "C"} == {"PCIe down bandwidth", "PCIe up bandwidth"}


def test_windows_of_long_runs_stay_few() -> None:
    assert [window_cycles(cycles) for cycles in (0, 5000, 64 * 512, 64 * 512 + 1, 10**7)] == [64, 64, 64, 128, 32768]


def test_full_detail_has_one_slice_per_step_and_item() -> None:
    brief, full = _timing(), _timing(detail=True)
    assert len(full.events.rows("ALU")) == 4
    assert [row["count"] for row in brief.events.rows("ALU")] == [4]
    assert sum(int(row["count"]) for row in brief.events.rows("MAU")) == len(full.events.rows("MAU")) == 8


def test_gzip_and_replacing(tmp_path: Path) -> None:
    timing = _timing()
    path = tmp_path / "trace.json.gz"
    path.write_bytes(b"old")
    write_chrome(timing.events, path)
    first = path.read_bytes()
    assert json.loads(gzip.decompress(first))["traceEvents"]
    write_chrome(timing.events, path)
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["trace.json.gz"]


def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise RuntimeError("disk")

    monkeypatch.setattr("hw.trace.chrome._slices", fail)
    with pytest.raises(RuntimeError, match="disk"):
        write_chrome(_timing().events, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["trace.json"]


def test_nanoseconds_survive_the_truncation_of_viewers() -> None:
    ns = np.arange(0, 3_000_000, 7, dtype=np.int64)
    assert (np.floor(microseconds(ns) * 1000.0).astype(np.int64) == ns).all()


def test_overlapping_spans_get_lanes(tmp_path: Path) -> None:
    builder = EventLogBuilder(1000.0)
    track = builder.track(Track("host", "", "requests"))
    for start, end in ((0, 10), (2, 4), (3, 12), (10, 20), (12, 13)):
        builder.add(track, "r", start, end)
    path = tmp_path / "lanes.json"
    write_chrome(builder.freeze(), path)
    traced = json.loads(path.read_text())["traceEvents"]
    assert [r["args"]["name"] for r in traced if r["name"] == "thread_name"] == [
        "requests",
        "requests #2",
        "requests #3",
    ]
    spans = [(r["tid"], r["args"]["cycle"]) for r in traced if r["ph"] == "X"]
    assert spans == [(1, 0), (1, 10), (2, 2), (2, 12), (3, 3)]


# --- protobuf ---


@pytest.fixture
def packets(timing: Timing, tmp_path: Path) -> list[Message]:
    path = tmp_path / "trace.pb"
    count = write_perfetto(timing.events, path, regions=timing.regions, metadata={"program": "test"})
    assert count == len(timing.events) + len(timing.regions)
    return messages(path.read_bytes())


def test_protobuf_tracks_form_a_tree(packets: list[Message]) -> None:
    tracks = {p.sub(60).number(1): p.sub(60) for p in packets if 60 in p}
    names = {uuid: track.text(2) for uuid, track in tracks.items()}

    def path(uuid: int) -> list[str]:
        track = tracks[uuid]
        return [*(path(track.number(5)) if 5 in track else []), names[uuid]]

    paths = [path(uuid) for uuid in tracks]
    assert ["board 0"] in paths
    assert ["board 0", "layers"] in paths
    assert ["board 0", "PE stream", "MAU"] in paths
    assert ["board 0", "MV engines", "MV g0"] in paths
    assert ["board 0", "memories", "DRAM g3"] in paths
    used = {p.sub(11).number(11) for p in packets if 11 in p}
    assert used <= set(tracks)


def test_protobuf_slices_equal_the_log(packets: list[Message], timing: Timing) -> None:
    interned = packets[0].sub(12)
    names = {entry.number(1): entry.text(2) for entry in interned.subs(2)}
    causes = {entry.number(1): entry.text(2) for entry in interned.subs(1)}
    arguments = {entry.number(1): entry.text(2) for entry in interned.subs(3)}
    open_at: dict[int, dict[str, Any]] = {}
    found = []
    for packet in packets:
        event = packet.sub(11) if 11 in packet else None
        if event is None or event.number(9) not in (1, 2):
            continue
        track, time = event.number(11), packet.number(8)
        if event.number(9) == 1:
            assert track not in open_at
            facts = {arguments[a.number(1)]: a.number(4) for a in event.subs(4) if 4 in a}
            open_at[track] = {"name": names[event.number(10)], "cause": causes[event.number(3)], "ns": time, **facts}
        else:
            span = open_at.pop(track)
            assert time == round((span["cycle"] + span["cycles"]) * 1000 / 750)
            assert span["ns"] == round(span["cycle"] * 1000 / 750)
            found.append((span["name"], span["cause"], span["cycle"], span["cycles"], span["line"], span["bytes"]))
    assert not open_at
    rows = timing.events.rows()
    expected = [
        (r["name"], r["cause"], r["start"], int(r["end"]) - int(r["start"]), r["line"], r["bytes"]) for r in rows
    ]
    expected += [(r.name or "(before the first layer)", "none", r.start, r.cycles, 0, 0) for r in timing.regions]
    assert sorted(found) == sorted(expected)


def test_protobuf_flows_and_counters(packets: list[Message], timing: Timing) -> None:
    events = [p.sub(11) for p in packets if 11 in p]
    assert sorted(f for e in events for f in e.numbers(47)) == [1, 2]
    assert sorted(f for e in events for f in e.numbers(48)) == [1, 2]
    counters = {p.sub(60).number(1) for p in packets if 60 in p and 8 in p.sub(60)}
    assert {e.number(11) for e in events if e.number(9) == 4} == counters
    assert len(counters) == 5  # four DRAMs and the MAU
    assert sum(e.number(9) == 3 for e in events) == 1
