"""compile with its cache, alarm and notices; compile-bench; dump_gpfnapp."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path
from typing import Any

import onnx
import pytest

from runtime.app import App
from runtime.cli import compile_onnx, dump_gpfnapp
from runtime.compiling import Outcome
from tests.cli.command import command, ok, refused
from tests.compiler.models import mlp

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "small.onnx"
    onnx.save(mlp(8, [16], 16, 4), path)
    return path


@pytest.fixture(scope="module")
def compiled(model: Path) -> Path:
    from runtime.cli import main

    folder = model.parent / "small"
    assert main(["compile", str(model), "--outdir", str(folder)]) == 0
    return folder


def test_equal_compilations_come_from_the_cache(capsys: Capture, model: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = ok(capsys, "compile", model, "--outdir", tmp_path / "a", "--cache", cache, "--json").json
    begin = time.perf_counter()
    again = ok(capsys, "compile", model, "--outdir", tmp_path / "b", "--cache", cache, "--json").json
    assert time.perf_counter() - begin < 5
    assert again["report"] == first["report"] and again["files"] == first["files"]
    assert (tmp_path / "a" / "model.app").read_bytes() == (tmp_path / "b" / "model.app").read_bytes()
    assert len(list((cache / "app").iterdir())) == 1
    spill = ("--option", "scheduler=spill_opt")
    ok(capsys, "compile", model, "--outdir", tmp_path / "c", "--cache", cache, *spill)
    assert len(list((cache / "app").iterdir())) == 2
    annealed = ("--option_json", "O1", "--option", "CODEGEN_SA_STEPS=10")
    ok(capsys, "compile", model, "--outdir", tmp_path / "d", "--cache", cache, *annealed)
    assert list((cache / "codegen" / "node_simulation").rglob("*"))


def test_contents_of_spec_files_are_part_of_the_key(capsys: Capture, model: Path, tmp_path: Path) -> None:
    cache, spec = tmp_path / "cache", tmp_path / "spec.json"
    unused = {"trigger": "SwitchInput", "op_type": "Relu", "shape": [8, 16], "layout": "((8_L2B:1), (16:1))"}
    spec.write_text("[]")
    arguments = ("compile", model, "--outdir", tmp_path / "a", "--cache", cache, "--option", f"layout_spec={spec}")
    ok(capsys, *arguments)
    spec.write_text(json.dumps([{**unused, "op_type": "Gather"}]))
    assert "match nothing" in refused(capsys, 1, *arguments)


def test_out_onnx_is_written_and_notices_are_said(capsys: Capture, model: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "optimised.onnx"
    options = ("--option", f"out_onnx={target}", "--option", "CODEGEN_SKIP_RESOLVE_NEGATIVE_INDICES=1")
    result = ok(capsys, "compile", model, "--outdir", tmp_path / "a", *options)
    assert target.read_bytes() == (tmp_path / "a" / "pfvm.onnx").read_bytes()
    assert result.err.count("CODEGEN_SKIP_RESOLVE_NEGATIVE_INDICES is accepted but has no counterpart") == 1
    bad = ("--option", f"out_onnx={model}/x")
    assert "out_onnx: cannot write" in refused(capsys, 1, "compile", model, "--outdir", tmp_path / "b", *bad)


def test_alarm_stops_the_compilation(
    capsys: Capture, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*arguments: Any, **options: Any) -> Outcome:
        time.sleep(60)
        raise AssertionError("the alarm did not ring")

    monkeypatch.setattr(compile_onnx, "compile_folder", endless)
    out = tmp_path / "out"
    message = refused(capsys, 1, "compile", model, "--outdir", out, "--option", "CODEGEN_ALARM=1")
    assert "more than 1 s" in message and not out.exists()


def test_bench_of_a_model(capsys: Capture, model: Path) -> None:
    data = ok(capsys, "compile-bench", model, "--only", "O0", "--only", "always_from_dram", "--json").json
    rows = {row["name"]: row for row in data["results"]}
    assert set(rows) == {"O0", "always_from_dram"}
    for row in rows.values():
        assert row["vsm_cycles"] >= row["lower_bound"] > 0
        assert row["warm_seconds"] < row["cold_seconds"]
    assert rows["O0"]["vsm_cycles"] <= rows["always_from_dram"]["vsm_cycles"]
    assert "did you mean 'spill_opt'" in refused(capsys, 2, "compile-bench", model, "--only", "spill")


def _dump(capsys: Capture, *arguments: str | Path) -> tuple[int, str, str]:
    capsys.readouterr()
    code = dump_gpfnapp.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_dump_shows_tensors_relocations_and_code(capsys: Capture, compiled: Path) -> None:
    app = App.load(compiled / "model.app")
    code, out, _ = _dump(capsys, compiled, "--json")
    data = json.loads(out)
    assert code == 0 and data["kind"] == "vsm"
    assert {spec["name"] for spec in data["inputs"]} == {"x", "t"}
    assert data["report"]["vsm_cycles"] == app.report["vsm_cycles"]
    counts = {row["tensor"]: row["transfers"] for row in data["relocations"]}
    assert set(counts) == {*app.inputs, *app.outputs, *app.params} and all(counts.values())
    assert sum(data["instructions"].values()) == len(app.program.lines)
    _, text, _ = _dump(capsys, compiled / "model.app")
    assert all(name in text for name in counts)
    assert _dump(capsys, compiled, "--code")[1] == (compiled / "model.vsm").read_text()


def test_dump_refuses_what_is_no_sound_program(capsys: Capture, compiled: Path, tmp_path: Path) -> None:
    data = (compiled / "model.app").read_bytes()
    short = tmp_path / "short.app"
    short.write_bytes(data[: len(data) // 2])
    code, out, err = _dump(capsys, short)
    assert code == 1 and not out and "truncated" in err
    altered = tmp_path / "altered.app"
    with zipfile.ZipFile(compiled / "model.app") as old, zipfile.ZipFile(altered, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b"nop", b"NOP", 1) if name == "model.vsm" else content)
    code, out, err = _dump(capsys, altered)
    assert code == 1 and not out and "was altered: model.vsm" in err
    code, _, err = _dump(capsys, tmp_path / "nothing.app")
    assert code == 2 and "there is no program file" in err
    assert _dump(capsys, "--nonsense")[0] == 2


def test_help_names_the_verb(capsys: Capture) -> None:
    assert "compile-bench" in command(capsys, "--help").out
