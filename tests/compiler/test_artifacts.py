"""The files of a codegen_dir, the reproduction of a compilation from its option.json, and the notices."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import onnx
import pytest
import zstandard

from compiler.artifacts import optimize_logged, write_artifacts
from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.graph import MNGraph, parse_l3ir
from compiler.options import Options
from compiler.report.html import table_page
from compiler.report.layout_pages import layout_page
from tests.compiler import models

MODEL = models.mlp(40, [30], 32, 5)
ENVS = {"CODEGEN_SA_STEPS": 500, "CODEGEN_OPS_ON_HOST": "Exp", "CODEGEN_SCHEDULE_PP_BEAM_WIDTH": 2}
GIVEN: dict[str, Any] = {"option_json": "O1", "envs": ENVS, "simulation_mode": "full"}


class Pages(HTMLParser):
    """Tags and outside references of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [value or "" for name, value in attrs if name in ("src", "href")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Compiled, Path]:
    folder = tmp_path_factory.mktemp("codegen")
    options = Options.resolve(GIVEN, {})
    compiled = compile_model(optimize_logged(MODEL, options, folder), options)
    paths = write_artifacts(compiled, options, folder)
    assert all(path.is_file() for path in paths)
    return compiled, folder


def test_every_file_of_the_list_is_there(made: tuple[Compiled, Path]) -> None:
    _, folder = made
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    fixed = {name for name in names if not name.startswith("glog/")}
    assert fixed == {
        *("CLOG.log", "l3ir.txt", "l3ir_stripped.onnx.zst", "layout.html", "layout_plan_history.html", "model.vsm"),
        *("option.json", "out.json", "out.txt", "profile.json", "report.json", "simulation_result.json", "trace.json"),
        *("time_slice.html", "time_slice.json", "time_slice.txt"),
    }
    logs = [name for name in names if name.startswith("glog/codegen.")]
    assert len(logs) == 1 and "chosen:" in (folder / logs[0]).read_text()
    assert "pfvm:" in (folder / "CLOG.log").read_text()


def test_option_json_reproduces_the_program(made: tuple[Compiled, Path], tmp_path: Path) -> None:
    compiled, folder = made
    options = Options.resolve({"option_json": str(folder / "option.json")}, {})
    again = compile_model(optimize_logged(MODEL, options, tmp_path), options)
    assert again.program.source == compiled.program.source


def test_simulation_result_lists_patterns_and_failures(made: tuple[Compiled, Path]) -> None:
    _, folder = made
    result = json.loads((folder / "simulation_result.json").read_text())
    assert result["mode"] == "full"
    outcomes = [pattern for node in result["nodes"] for pattern in node["patterns"]]
    assert any("error" in outcome for outcome in outcomes)
    measured = [outcome for outcome in outcomes if "error" not in outcome]
    assert all(outcome["cycles"] >= 0 and len(outcome["lm_words"]) == 2 for outcome in measured)


def test_stripped_graph_is_onnx_without_data(made: tuple[Compiled, Path]) -> None:
    compiled, folder = made
    data = zstandard.ZstdDecompressor().decompress((folder / "l3ir_stripped.onnx.zst").read_bytes())
    model = onnx.load_from_string(data)
    assert [node.op_type for node in model.graph.node] == [node.op_type for node in compiled.graph.nodes]
    assert not model.graph.initializer and len(data) < 50_000
    facts = {
        info.name: {entry.key: entry.value for entry in info.metadata_props}
        for info in (*model.graph.input, *model.graph.value_info, *model.graph.output)
    }
    for name, value in compiled.graph.values.items():
        assert facts[name]["dtype"] == value.dtype and facts[name]["loc"] == value.loc, name
        assert facts[name]["layout"] == str(value.layout)


def test_pages_are_self_contained_and_show_every_value(made: tuple[Compiled, Path]) -> None:
    compiled, folder = made
    for name in ("layout.html", "layout_plan_history.html"):
        text = (folder / name).read_text()
        page = Pages()
        page.feed(text)
        assert not page.outside and "http" not in text and "table" in page.tags
    text = (folder / "layout.html").read_text()
    assert all(f">{name}<" in text for name in compiled.graph.values)
    graph = parse_l3ir((folder / "l3ir.txt").read_text())
    assert len(graph.nodes) == len(compiled.graph.nodes)


def test_pages_escape_what_names_hold() -> None:
    evil = "<script>alert('x')</script>&"
    text = table_page(evil, evil, [evil], [[evil]])
    assert evil not in text and text.count("&lt;script&gt;") == 5
    assert layout_page(MNGraph()).startswith("<!DOCTYPE html>")


def test_timelines_hold_the_layers(made: tuple[Compiled, Path]) -> None:
    compiled, folder = made
    profile = json.loads((folder / "profile.json").read_text())
    slices = [event for event in profile["traceEvents"] if event["ph"] == "X"]
    assert sum(event["args"]["cycles"] for event in slices) == compiled.timing.cycles
    whole = json.loads((folder / "trace.json").read_text())
    assert len(whole["traceEvents"]) > len(profile["traceEvents"])


def test_options_without_effect_are_reported_and_said(made: tuple[Compiled, Path]) -> None:
    compiled, folder = made
    assert compiled.report["options_without_effect"] == ["CODEGEN_OPS_ON_HOST"]
    assert "CODEGEN_OPS_ON_HOST is accepted" in (folder / "out.txt").read_text()
    out = json.loads((folder / "out.json").read_text())
    assert out["status"] == "success" and out["vsm_cycles"] == compiled.timing.cycles
    assert out["options_without_effect"] == ["CODEGEN_OPS_ON_HOST"]
    cycles = [candidate["cycles"] for candidate in out["candidates"] if "cycles" in candidate]
    assert min(cycles) == compiled.timing.cycles
