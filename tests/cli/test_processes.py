"""The command as a process: pipes that close, a study that is killed, interrupted and taken up again."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.cli.command import FIRST
from tests.studies.helpers import write_study

ROOT = Path(__file__).parents[2]
POINTS = 401  # 400 latencies and the baseline, whose latency is one of them: 400 different points
PRODUCT = ", ".join(str(n) for n in range(1, POINTS))
STUDY = f'programs = ["copy.vsm"]\n[product]\n"mv.latency.dram" = [{PRODUCT}]\n'
COPY = "mvp/n640i01 $d0@0 $lc0@0.0\nnop; wait i01\n" + "lpassa $lr0v $ls0v\n" * 20000


def _let_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """The command as a process that a signal can interrupt, also where the tests themselves run with SIGINT ignored."""
    command = [sys.executable, "-m", "runtime.cli", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_let_interrupt,
    )


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    path = tmp_path / "long.vsm"
    path.write_text("nop\n" * 200_000)
    process = start("asm", path)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline().startswith("j ")
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_trace_on_screen(tmp_path: Path) -> None:
    pytest.importorskip("viztracer", reason="needs the extra viewer")
    path = tmp_path / "first.vsm"
    path.write_text(FIRST)
    process = start("trace", path, "--view", "--port", "0")
    assert process.stderr is not None
    url = process.stderr.readline().split()[0]
    try:
        with urlopen(url) as page:
            assert b"<html" in page.read()
            assert "default-src 'self'" in page.headers["Content-Security-Policy"]
        with urlopen(f"{url}localtrace?x=1") as trace:
            assert b"fvfma" in trace.read()
        with urlopen(f"{url}file_info") as answer:
            assert answer.read() == b"{}"
        with pytest.raises(HTTPError):
            urlopen(f"{url}../../secret")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_study_survives(tmp_path: Path, blow: signal.Signals) -> None:
    study, out = write_study(tmp_path, STUDY, copy=COPY), tmp_path / "out"
    process = start("sweep", study, "--out", out, "--workers", "2", "--no-plots")
    deadline = time.monotonic() + 60
    while len(list(out.glob("points/*.json"))) < 20:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(blow)
    _, err = process.communicate(timeout=60)
    if blow is signal.SIGINT:
        assert process.returncode == 130
        assert "Traceback" not in err and "goes on" in err
    done = len(list(out.glob("points/*.json")))
    assert 20 <= done < POINTS - 1 and not (out / "results.csv").exists()
    again = start("sweep", study, "--out", out, "--workers", "2", "--no-plots")
    _, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert f"{POINTS - 1 - done} simulated, {done} taken" in err
    with (out / "results.csv").open(newline="") as file:
        cycles = [int(row["cycles"]) for row in csv.DictReader(file)]
    assert len(cycles) == POINTS
    assert not list(out.glob("points/.*"))
