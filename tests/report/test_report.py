"""report.json: layers, causes, work and traffic add up; reading it back; tables; local memory over time."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.graph import Location
from compiler.options import Options
from compiler.report.load import ReportError, check_report, load_report
from compiler.report.occupancy import occupancy, occupancy_counters
from compiler.report.roofline import roofline
from compiler.report.table import render
from compiler.report.work import LayerWork, layer_work
from hw.model import simulate
from hw.model.report import time_report
from hw.spec import ChipSpec, default_spec
from isa.assemble import assemble
from tests.compiler import models

KEYS = ("vsm_cycles", "core_freq", "flops", "tflops", "percent_of_peak", "layers", "causes", "phases", "host_ops")


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_model(models.mlp(64, [784], 100, 10), Options.resolve({}, {}))


@pytest.fixture
def report(compiled: Compiled) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(compiled.report))
    return loaded


def test_the_keys_that_scripts_read_are_there(report: dict[str, Any]) -> None:
    assert set(KEYS) <= set(report)
    assert report["percent_of_peak"] == pytest.approx(100 * report["tflops"] / 393.216)


def test_everything_adds_up(report: dict[str, Any], compiled: Compiled) -> None:
    assert check_report(report) == []
    assert report["vsm_cycles"] == compiled.timing.cycles
    layers = report["layers"]
    assert sum(layer["cycles"] for layer in layers) == report["vsm_cycles"]
    for what in ("causes", "bounds"):
        for name, cycles in report[what].items():
            assert sum(layer[what].get(name, 0) for layer in layers) == cycles
    for link, nbytes in report["bytes_by_link"].items():
        assert sum(layer["bytes_by_link"].get(link, 0) for layer in layers) == nbytes
    assert sum(layer["flops"] for layer in layers) + report["flops_outside_layers"] == report["flops"]
    assert report["flops_outside_layers"] == 0
    # What the graph says of DRAM is what the program moves.
    assert report["dram_bytes_outside_layers"] == 0


def test_layers_have_their_operator_and_work(report: dict[str, Any], compiled: Compiled) -> None:
    products = [layer for layer in report["layers"] if layer["op_type"] == "Gemm"]
    assert [layer["flops"] for layer in products] == [2 * 64 * 784 * 100 + 64 * 100, 2 * 64 * 100 * 10 + 64 * 10]
    assert all(layer["bound_by"] == "dram" for layer in products)
    moves = [layer for layer in report["layers"] if layer["op_type"].startswith("MNCore")]
    assert moves and all(layer["flops"] == 0 for layer in moves)
    work = layer_work(compiled.graph, default_spec())
    assert sum(item.flops for item in work.values()) == report["flops"]


def test_lower_bounds_stand_beside_the_cycles(report: dict[str, Any]) -> None:
    assert max(report["lower_bounds"].values()) <= report["vsm_cycles"]
    assert max(report["lower_bound_cycles"].values()) <= report["vsm_cycles"]
    for layer in report["layers"]:
        assert max(layer["lower_bounds"].values(), default=0) <= layer["cycles"]


def test_the_call_adds_the_host(report: dict[str, Any]) -> None:
    call = report["call"]
    assert call["cycles"] == sum(call["bounds"].values()) > report["vsm_cycles"]
    assert call["bounds"]["compute"] == report["bounds"]["compute"]
    assert call["send_bytes"] % 512 == 0
    assert call["receive_bytes"] == 512  # one scalar, copied to all L2Bs


def test_the_corner_of_the_roof() -> None:
    spec = default_spec()
    peak = spec.peak_flops("half") / spec.clock_hz  # 524288 per cycle; DRAM 4 * 64/3 * 8 bytes per cycle: ridge 768
    at_the_ridge = roofline(LayerWork(768 * 10**6, 10**6, peak), 3000, spec)
    assert at_the_ridge["limit_cycles"] == pytest.approx(10**6 / (4 * 512 / 3))
    below, above = (roofline(LayerWork(flops * 10**6, 10**6, peak), 3000, spec) for flops in (767, 769))
    assert (below["bound_by"], above["bound_by"]) == ("dram", "compute")
    assert above["attainable_tflops"] == pytest.approx(393.216)
    assert below["attainable_tflops"] == pytest.approx(0.512 * 767)
    assert above["tflops"] == pytest.approx(769e6 / (3000 / 750e6) / 1e12)
    nothing = roofline(LayerWork(0, 0, peak), 4, spec)
    assert (nothing["bound_by"], nothing["intensity"], nothing["tflops"]) == ("neither", None, None)
    shadow = roofline(LayerWork(64, 0, peak), 0, spec)
    assert (shadow["bound_by"], shadow["tflops"]) == ("compute", None)


def test_local_memory_over_time(compiled: Compiled) -> None:
    graph = compiled.graph
    held = occupancy(graph)
    assert held[Location.LM0] and max(held[Location.LM0]) <= 2048
    first = next(n for n, node in enumerate(graph.nodes) if "Download" in node.op_type)
    made = graph.values[graph.nodes[first].outputs[0]]
    assert held[made.loc][first] >= made.num_lw  # type: ignore[index]
    counters = occupancy_counters(graph, compiled.timing.regions)
    assert [counter.name for counter in counters] == ["LM0 occupancy", "LM1 occupancy"]
    for counter in counters:
        assert counter.cycles[-1] == compiled.timing.cycles
        assert (np.diff(counter.cycles) > 0).all()
        assert counter.values[-1] == 0
        assert counter.values.max() <= max(held[Location(counter.name[:3])])
    assert occupancy_counters(graph, []) == []


# --- files and tables ---


def test_reading_it_back(tmp_path: Path, report: dict[str, Any]) -> None:
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert load_report(tmp_path) == load_report(tmp_path / "report.json") == report


def test_what_is_no_report_is_refused(tmp_path: Path, report: dict[str, Any]) -> None:
    good = tmp_path / "eval_step"
    good.mkdir()
    (good / "report.json").write_text(json.dumps(report))
    with pytest.raises(ReportError, match=r"eval_stepp/report.json|eval_stepp: .*did you mean .*eval_step\?"):
        load_report(tmp_path / "eval_stepp")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReportError, match="No such file"):
        load_report(tmp_path / "empty")
    for text, message in (("{", "is no JSON"), ("[]", "expected an object"), ('{"vsm_cycles": 1}', "lacks core_freq")):
        (good / "report.json").write_text(text)
        with pytest.raises(ReportError, match=message):
            load_report(good)


def test_what_does_not_add_up_is_told(report: dict[str, Any]) -> None:
    report["flops"] += 3
    report["causes"]["compute"] -= 1
    found = "\n".join(check_report(report))
    assert f"causes add up to {report['vsm_cycles'] - 1} cycles" in found
    assert f"expected {report['flops']}" in found


def _text(report: dict[str, Any]) -> str:
    out = StringIO()
    Console(width=200, file=out).print(*render(report))
    return out.getvalue()


def test_tables_show_the_same_numbers(report: dict[str, Any]) -> None:
    text = _text(report)
    assert f"{report['vsm_cycles']:,}" in text
    for title in ("Where the cycles went", "Busy units", "Layers", "Roofline of the layers", "mv.latency.dram"):
        assert title in text
    for cause, cycles in report["causes"].items():
        if cycles and cause not in ("compute", "transfer", "hazard_nop"):
            assert f"{cause}" in text
    assert "100.0 %" in text


def test_a_program_without_compiler_has_tables_too() -> None:
    text = "mvp/n64i01 $d0@0 $lc0@0.0\nnop; wait i01\nl2bmb $lc0 $lb0\n"
    spec = ChipSpec.load({"mv.latency.dram": 100})
    shown = _text(time_report(simulate(assemble(text), spec), spec))
    assert "DRAM bound" in shown and "mv.latency.dram" in shown and "Roofline" not in shown
