"""compile, report, trace and sweep on a small compiled network, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from hw.model import simulate
from hw.spec import ChipSpec
from runtime.app import App
from tests.cli.command import ok, refused
from tests.compiler.models import mlp

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "small.onnx"
    onnx.save(mlp(8, [1, 8, 8], 16, 4), path)
    return path


@pytest.fixture(scope="module")
def compiled(model: Path) -> Path:
    from runtime.cli import main

    folder = model.parent / "small"
    assert main(["compile", str(model), "--outdir", str(folder)]) == 0
    return folder


def test_compile_leaves_a_complete_folder(compiled: Path) -> None:
    names = {path.name for path in compiled.iterdir()}
    assert {"model.onnx", "pfvm.onnx", "l3ir.txt", "model.vsm", "report.json", "option.json", "trace.json"} <= names
    app = App.load(compiled / "model.app")
    assert (app.kind, set(app.inputs), set(app.outputs)) == ("vsm", {"x", "t"}, {"correct"})
    assert app.code.decode() == (compiled / "model.vsm").read_text()
    assert not [path for path in compiled.parent.iterdir() if path.name.startswith(".small-")]


def test_the_program_can_be_called(compiled: Path) -> None:
    import torch

    from mlsdk import Context, MNDevice

    context = Context(MNDevice("mncore2:auto"))
    function = context.load_codegen_dir(compiled)
    images, labels = torch.rand(8, 1, 8, 8), torch.zeros(8, dtype=torch.int64)
    counts = [int(function({"x": images, "t": labels + label})["correct"].cpu()) for label in range(4)]
    assert sum(counts) == 8


def test_compile_prints_its_report_as_json_and_obeys_options(capsys: Capture, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "artifacts.json").write_text("{}")
    (out / "mine.txt").write_text("kept")
    data = ok(capsys, "compile", model, "--outdir", out, "--option", "scheduler=always_from_dram", "--json").json
    assert data["report"]["scheduler"] == "always_from_dram"
    assert "mine.txt" in data["files"] and "model.app" in data["files"] and "artifacts.json" not in data["files"]
    assert json.loads((out / "report.json").read_text()) == data["report"]


def test_what_cannot_be_compiled(capsys: Capture, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "did you mean 'scheduler'" in refused(
        capsys, 2, "compile", model, "--outdir", out, "--option", "schedular=x"
    )
    assert "expected NAME=VALUE" in refused(capsys, 2, "compile", model, "--outdir", out, "--option", "scheduler")
    assert "there is no model" in refused(capsys, 2, "compile", tmp_path / "no.onnx", "--outdir", out)
    assert "is no ONNX model" in refused(capsys, 1, "compile", __file__, "--outdir", out)
    assert "exists and is not a folder" in refused(capsys, 2, "compile", model, "--outdir", model)
    unknown = tmp_path / "unknown.onnx"
    strange = onnx.load(model)
    strange.graph.node[2].op_type = "Atan"
    onnx.save(strange, unknown)
    assert "Atan" in refused(capsys, 1, "compile", unknown, "--outdir", out)
    assert not out.exists() and not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("text", ["{}", '{"vsm_cycles": "many"}', "[]", "{"])
def test_what_is_no_report(capsys: Capture, tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    assert "no report" in refused(capsys, 1, "report", tmp_path)


def test_report_adds_up(capsys: Capture, compiled: Path) -> None:
    data = ok(capsys, "report", compiled, "--json").json
    written = json.loads((compiled / "report.json").read_text())
    assert {key: data[key] for key in written} == written
    assert data["adds_up"] is True
    assert {"layers", "causes"} <= {check["section"] for check in data["sums"]}
    assert all(check["cycles"] == check["expected"] for check in data["sums"])
    table = ok(capsys, "report", compiled / "model.app", "--all")
    assert "add up to" in table.err
    assert all(row["name"] in table.out for row in written["layers"])


def test_report_fits_a_screen_and_names_one_bound(capsys: Capture, compiled: Path) -> None:
    written = json.loads((compiled / "report.json").read_text())
    shown = ok(capsys, "report", compiled)
    assert max(map(len, shown.out.splitlines())) <= 100 and "--all" in shown.err
    lines = [line.split() for line in shown.out.splitlines()]
    start = next(at for at, words in enumerate(lines) if words[:2] == ["layer", "cycles"]) + 2
    for words, layer in zip(lines[start:], written["layers"], strict=False):
        assert words[0].startswith(layer["op_type"][:8])  # long names lose their middle
        assert f"{layer['cycles']:,}" in words and f"{max(layer['lower_bounds'].values()):,}" in words
    assert lines[start + len(written["layers"]) + 1][:2] == ["all", f"{written['vsm_cycles']:,}"]
    assert shown.out.count("bound:") == 1 and f"{max(written['lower_bounds'].values()):,} by " in shown.out
    slowest = sorted((layer["cycles"] for layer in written["layers"]), reverse=True)[:2]
    lines = [line.split() for line in ok(capsys, "report", compiled, "--top", 2).out.splitlines()]
    start = next(at for at, words in enumerate(lines) if words[:2] == ["layer", "cycles"]) + 2
    assert [next(word for word in words[3:] if "." not in word) for words in lines[start : start + 2]] == [
        f"{cycles:,}" for cycles in slowest
    ]
    assert lines[start + 3][:2] == ["these", f"{sum(slowest):,}"]
    assert "give one of them" in refused(capsys, 2, "report", compiled, "--top", 2, "--all")


def test_report_shows_what_it_does_not_know_and_refuses_what_does_not_add_up(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    content = {
        "vsm_cycles": 10,
        "causes": {"compute": 7, "drain": 3},
        "layers": [{"name": "a", "cycles": 10, "by_cause": {"compute": 7, "drain": 3}}],
        "roofline": {"a": {"intensity": 1.5, "bound": "dram"}},
        "notes": ["one", "two"],
    }
    path.write_text(json.dumps(content))
    shown = ok(capsys, "report", tmp_path, "--all").out
    assert all(word in shown for word in ("roofline", "intensity", "1.5", "dram", "two"))
    short = ok(capsys, "report", tmp_path).out
    assert "drain" in short and "roofline" not in short
    path.write_text(json.dumps({"vsm_cycles": 10, "layers": [], "bounds": 7}))
    assert "10" in ok(capsys, "report", tmp_path).out
    content["layers"][0]["by_cause"]["drain"] = 2  # type: ignore[index]
    path.write_text(json.dumps(content))
    message = refused(capsys, 1, "report", tmp_path)
    assert "does not add up: layers[a].by_cause 9, expected 10" in message
    path.write_text("{")
    assert "is no report" in refused(capsys, 1, "report", tmp_path)
    path.unlink()
    assert "nothing was compiled there" in refused(capsys, 1, "report", tmp_path)


@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "t.pb", "t.pb.gz", "t.perfetto-trace"])
def test_trace(capsys: Capture, compiled: Path, tmp_path: Path, name: str) -> None:
    timing = simulate(App.load(compiled / "model.app").program)
    data = ok(capsys, "trace", compiled, "--out", tmp_path / name, "--json").json
    assert (data["vsm_cycles"], data["slices"]) == (timing.cycles, len(timing.events) + len(timing.regions))
    assert data["bytes"] == (tmp_path / name).stat().st_size > 0


def test_trace_of_another_chip_with_detail(capsys: Capture, compiled: Path, tmp_path: Path) -> None:
    source, out = compiled / "model.vsm", tmp_path / "t.json"
    plain = ok(capsys, "trace", source, "--out", out, "--json").json
    slow = ok(capsys, "trace", source, "--out", out, "--json", "--detail", "--set", "mv.latency.dram=900").json
    assert slow["slices"] > plain["slices"]
    assert slow["vsm_cycles"] > plain["vsm_cycles"]
    assert len([e for e in json.loads(out.read_text())["traceEvents"] if e["ph"] == "X"]) == slow["slices"]


def test_what_cannot_be_traced(capsys: Capture, compiled: Path, tmp_path: Path) -> None:
    assert "--out FILE or --view" in refused(capsys, 2, "trace", compiled)
    assert "expected a name that ends in .json" in refused(capsys, 2, "trace", compiled, "--out", "trace.txt")
    assert "there is no folder" in refused(capsys, 2, "trace", compiled, "--out", tmp_path / "no" / "t.pb")
    assert "there is no file" in refused(capsys, 2, "trace", tmp_path / "no.vsm", "--out", tmp_path / "t.pb")
    assert "holds neither" in refused(capsys, 2, "trace", tmp_path, "--out", tmp_path / "t.pb")


def test_sweep(capsys: Capture, compiled: Path, tmp_path: Path) -> None:
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text(f'programs = ["{compiled}"]\n[product]\n"mv.latency.dram" = [100, 400]\n')
    data = ok(capsys, "sweep", study, "--out", out, "--workers", "1", "--no-plots", "--json").json
    program = App.load(compiled / "model.app").program
    assert [row["cycles"] for row in data["rows"]] == [
        simulate(program, ChipSpec.load(numbers)).cycles
        for numbers in ({}, {"mv.latency.dram": 100}, {"mv.latency.dram": 400})
    ]
    assert (data["simulated"], data["reused"], data["failed"]) == (3, 0, 0)
    assert all(Path(name).is_file() for name in data["files"])
    again = ok(capsys, "sweep", study, "--out", out, "--no-plots")
    assert "0 simulated, 3 taken" in again.err
    assert "mv.latency.dram = 400" in again.out


def test_sweep_that_fails_in_parts_is_a_failure(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "p.vsm").write_text("mvp/n64i01 $d0@3 $lc0@3.0\nnop; wait i01\n")
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text('programs = ["p.vsm"]\n[product]\n"topology.groups" = [2]\n')
    message = refused(capsys, 1, "sweep", study, "--out", out, "--no-plots")
    assert "1 of 2 points failed, the first: p.vsm on topology.groups = 2" in message
    assert len((out / "results.csv").read_text().splitlines()) == 3
    study.write_text("program = 1")
    assert "did you mean 'programs'" in refused(capsys, 2, "sweep", study, "--out", out)
    assert "there is no study" in refused(capsys, 2, "sweep", tmp_path / "studi.toml", "--out", out)


@pytest.mark.slow
def test_bench(capsys: Capture) -> None:
    data = ok(capsys, "bench", "--repeat", "1", "--json").json
    names = [row["what"] for row in data["measurements"]]
    assert names == sorted(set(names), key=names.index)
    assert {"time model", "write trace.json", "write trace.pb", "value pass, whole board"} <= set(names)
    assert all(row["seconds"] > 0 and row["rate"] > 0 for row in data["measurements"])
