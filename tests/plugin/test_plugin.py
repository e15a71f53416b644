"""The pytest plugin in a pytest of its own: the documented suite passes, and failures say where and which bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isa.errors import AsmError
from runtime.program_check import DTYPES, CheckError, Divergence, check_program

_ROOT = Path(__file__).parents[2]
EXAMPLE = _ROOT / "docs" / "examples" / "test_vsm.py"


def run(folder: Path, *options: str) -> tuple[int, str]:
    """Exit code and output of a pytest in `folder` with the plugin."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-p", "runtime.pytest_plugin", "--strict-markers", "-q", *options]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", str(folder)], env=environment, cwd=folder, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_the_documented_suite_passes_in_workers(tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    assert len(text.splitlines()) <= 21
    (tmp_path / "test_vsm.py").write_text(text)
    code, out = run(tmp_path, "-p", "xdist", "-n", "2")
    assert code == 0 and "4 passed" in out, out


def test_a_wrong_program_fails_with_line_place_and_bits(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().replace("a * x + y", "a * x - y")
    (tmp_path / "test_vsm.py").write_text(text)
    code, out = run(tmp_path, "-k", "axpy and 0")
    assert code == 1
    assert "$ln0n3c1b7m15p3: 8 of 8 elements differ; the first is element 0 of LM1 0 of n3c1b7m15p3" in out
    assert "written by line 1: fvfma $lr0v $ls0v $lm0v $ln0v" in out and "highest: bit " in out
    assert "Traceback" not in out and "program_check.py" not in out


CASE = """\
d set $lm0n0c0b0m0p0 1 4000000040400000
# ======= YOUR VSM WILL BE INSERTED HERE =======
d getf $ln0n0c0b0m0p0 1 #! atol=0 rtol=0
"""


def test_the_judge_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_judge.py").write_text(
        "import pytest\n"
        "def test_marker(judge):\n"
        "    with pytest.raises(Exception, match='no line'):\n"
        "        judge('nothing', 'nop')\n"
        "def test_set(judge):\n"
        f"    judge({CASE.splitlines()[1]!r}, 'd set $lm0n0c0b0m0p0 1 0000000000000000', enable_set=True)\n"
        "def test_good(judge):\n"
        f"    assert judge({CASE.splitlines()[1]!r}, 'nop').score == 1\n"
    )
    code, out = run(tmp_path)
    assert code == 1 and "1 failed, 2 passed" in out and "not accepted: a solution may not use `d set`" in out, out


PROGRAM = 'imm f"1.5" $r0v\nnop/2\nlpassa $lr0v $ln0v\nnop/2\nlpassa $lr0 $ln0/1000'


def test_the_first_difference_and_the_line_that_made_it() -> None:
    check_program(PROGRAM, {"$ln0n0c0b0m0p1": 1.5}, dtype="f", count=1)
    with pytest.raises(Divergence) as caught:
        check_program(PROGRAM, {"$ln0n0c0b0m0p1": [1.5, 1.25]}, dtype="f", count=1)
    assert str(caught.value) == (
        "$ln0n0c0b0m0p1: 1 of 2 elements differ; the first is element 1 of LM1 0 of n0c0b0m0p1\n"
        "  expected 00111111101000000000000000000000 0x3fa00000 1.25\n"
        "  found    00111111110000000000000000000000 0x3fc00000 1.5\n"
        "  differ   00000000011000000000000000000000 (highest: bit 22)\n"
        "  written by line 3: lpassa $lr0v $ln0v"
    )
    with pytest.raises(Divergence, match="no line of the program changed it"):
        check_program("nop", {"$ln0n0c0b0m0p0": 1}, dtype="ul")
    with pytest.raises(Divergence, match="highest: bit 31"):
        check_program("nop", {"$ln0n0c0b0m0p0": -0.0}, dtype="f")


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_all_types_bit_for_bit(dtype: str) -> None:
    values = np.random.default_rng(7).integers(0, 100, 8 * 64 // DTYPES[dtype].bits)
    raw = values.astype(DTYPES[dtype].raw_dtype)
    expected = values.astype(np.float32 if dtype == "h" else DTYPES[dtype].host_dtype)
    if dtype in ("h", "f", "d"):
        from compiler.graph import encode

        raw = encode(expected, DTYPES[dtype])
    lws = [raw[at : at + 64 // DTYPES[dtype].bits] for at in range(0, raw.size, 64 // DTYPES[dtype].bits)]
    digits = ["".join(f"{int(part):0{DTYPES[dtype].bits // 4}x}" for part in lw) for lw in lws]
    text = "".join(f"d set $lm{2 * at}n0c0b0m0p0 1 {lw}\n" for at, lw in enumerate(digits))
    check_program(text, {"$lm0n0c0b0m0p0": expected}, dtype=dtype, count=8)


def test_checks_that_make_no_sense() -> None:
    with pytest.raises(CheckError, match="expected one of h, f"):
        check_program("nop", {"$ln0n0c0b0m0p0": 0}, dtype="g")
    with pytest.raises(CheckError, match="3 values are expected, but 2 row"):
        check_program("nop", {"$ln0n0c0b0m0p0": [1, 2, 3]}, dtype="ul", count=2)
    with pytest.raises(CheckError, match="too few for an element of 64"):
        check_program("nop", {"$n0n0c0b0m0p0": 1}, dtype="l")
    with pytest.raises(CheckError, match="expected values"):
        check_program("nop", {"$ln0n0c0b0m0p0": 1 << 70}, dtype="l")
    with pytest.raises(AsmError):
        check_program("npo", {"$ln0n0c0b0m0p0": 1}, dtype="l")
