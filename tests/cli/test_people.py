"""The verbs explain, plot and debug, shell completion, `--json` of every verb, and the exit codes."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from isa.codes import codes
from runtime.cli.application import app
from tests.cli.command import FIRST, command, ok, refused

Capture = pytest.CaptureFixture[str]


def test_explain(capsys: Capture) -> None:
    text = ok(capsys, "explain", "hazard/1").out
    assert text.startswith("hazard/1, found by the assembler: a GRF0 write is visible 7 cycles later")
    assert "insert nop/1 before line 2 [hazard/1]" in text and "right:" in text
    assert ok(capsys, "explain", "[hazard/1]").out == text
    data = ok(capsys, "explain", "mv/source", "--json").json
    assert data["code"] == "mv/source" and "wait i01" in data["right"] and "[mv/source]" in data["message"]
    listed = ok(capsys, "explain", "--json").json
    assert [row["code"] for row in listed] == list(codes())
    table = ok(capsys, "explain").out
    assert all(name in table for name in codes())
    assert "did you mean `port/read`" in refused(capsys, 2, "explain", "port/red")


REPORT = {
    "vsm_cycles": 40,
    "roofline": {"peak_tflops": 393.2, "ridge_flops_per_byte": 768.0, "intensity": 7.2, "tflops": 0.8},
    "layers": [
        {
            "name": f"Relu({at})",
            "op_type": "Relu",
            "cycles": 10 * at,
            "bounds": {"compute": 10 * at},
            "lower_bounds": {"steps": 8},
            "intensity": 1.0,
            "tflops": 0.5,
        }
        for at in (0, 1, 3)
    ],
}
TRACE = {
    "traceEvents": [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "ALU"}},
        {"ph": "X", "pid": 1, "tid": 1, "name": "a", "args": {"cycle": 0, "cycles": 10}},
        {"ph": "X", "pid": 1, "tid": 1, "name": "b", "args": {"cycle": 30, "cycles": 10}},
    ]
}


def test_plot(capsys: Capture, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    assert "there is no trace" in refused(capsys, 2, "plot", tmp_path)
    (tmp_path / "trace.json").write_text(json.dumps(TRACE))
    files = ok(capsys, "plot", tmp_path, "--json").json["files"]
    assert [Path(name).name for name in files] == [
        f"{kind}.{suffix}" for kind in ("roofline", "layers", "utilisation") for suffix in ("png", "svg")
    ]
    first = [Path(name).read_bytes() for name in files]
    assert ok(capsys, "plot", tmp_path).out.split() == files
    assert [Path(name).read_bytes() for name in files] == first
    assert ok(capsys, "plot", tmp_path, "--only", "layers", "--out", tmp_path / "p").out.count("layers") == 2
    (tmp_path / "trace.json").write_text('{"traceEvents": [')
    assert "no complete JSON" in refused(capsys, 1, "plot", tmp_path)
    (tmp_path / "report.json").write_text("{}")
    assert "no data for the picture 'roofline'" in refused(capsys, 1, "plot", tmp_path, "--only", "roofline")


def test_busy_share() -> None:
    from runtime.report_plots import busy_share
    from runtime.timeline import read_timeline

    timeline = read_timeline(json.dumps(TRACE))
    assert timeline.cycles == 40
    assert busy_share(timeline, "ALU", 4).tolist() == [1.0, 0.0, 0.0, 1.0]
    assert busy_share(timeline, "ALU", 8).sum() == 4.0
    assert busy_share(timeline, "MAU", 4).tolist() == [0.0] * 4


def test_debug(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "first.vsm").write_text(FIRST)
    monkeypatch.setattr(sys, "stdin", io.StringIO("continue\nquit\n"))
    assert "(4.5, 4.5)" in ok(capsys, "debug", tmp_path / "first.vsm").out
    assert "there is no file" in refused(capsys, 2, "debug", tmp_path / "firts.vsm")


def test_every_verb_prints_json() -> None:
    """All but the one that talks with its user."""
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    needed = {"run", "asm", "dis", "debug", "judge", "compile", "report", "trace", "sweep", "bench", "config"}
    assert needed <= set(verbs)
    without = {name for name, verb in verbs.items() if not any("--json" in option.opts for option in verb.params)}
    assert without == {"debug"}


def test_exit_codes(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "good.vsm").write_text("nop\n")
    (tmp_path / "bad.vsm").write_text("npo\n")
    assert command(capsys, "asm", tmp_path / "good.vsm").code == 0
    assert command(capsys, "asm", tmp_path / "bad.vsm").code == 1
    assert command(capsys, "asm", tmp_path / "none.vsm").code == 2
    assert command(capsys, "amz", tmp_path / "good.vsm").code == 2
    assert "Exit codes: 0 done, 1 the job failed, 2 wrong command line or file" in " ".join(
        ok(capsys, "--help").out.split()
    )


_COMPLETIONS = [("mncore2 expl", "explain"), ("mncore2 explain hazard/1", "hazard/13")]


@pytest.mark.parametrize(("words", "expected"), _COMPLETIONS)
def test_shell_completion(words: str, expected: str) -> None:
    environment = {
        **os.environ,
        "_MNCORE2_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from runtime.cli import main; main()"], env=environment, capture_output=True, text=True
    )
    assert expected in done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_the_completion_script_is_bash() -> None:
    environment = {**os.environ, "_MNCORE2_COMPLETE": "source_bash"}
    done = subprocess.run(
        [sys.executable, "-c", "from runtime.cli import main; main()"], env=environment, capture_output=True, text=True
    )
    assert "_MNCORE2_COMPLETE=complete_bash" in done.stdout
    subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


def test_an_interrupt_before_the_verb_runs_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while half a second of imports passes: exit code 130, no traceback."""
    import types

    from runtime.cli import main

    class Interrupted(types.ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "runtime.cli.application", Interrupted("runtime.cli.application"))
    assert main(["config"]) == 130
