"""The compile cache: content-addressed folders, stable keys between processes, lazy imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hw.kernels.abi import Kernel, Kind
from hw.kernels.alu_misc import ZERO
from hw.kernels.cache import cache_root, source_digest
from hw.kernels.integer_function import integer_function

ROOT = Path(__file__).parent.parent.parent


def _python(code: str, cache: Path) -> str:
    environment = {**os.environ, "MNCORE2_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_engine_imports_without_numba(tmp_path: Path) -> None:
    assert _python("import sys, hw.engine; print('numba' in sys.modules)", tmp_path) == "False"


RUN = """
import sys
from hw.engine import execute
from hw.state import Board
from isa.assemble import assemble
board = Board()
execute(assemble('imm f"1.5" $lr0\\nimm f"2.0" $ls0\\nnop/2\\nfvfma $lr0 $ls0 $lr0 $ln0'), board)
print(hex(board.lm[1, 63, 0, 3, 15]), 'numba' in sys.modules)
"""


def test_second_process_runs_a_program_without_the_compiler(tmp_path: Path) -> None:
    assert _python(RUN, tmp_path) == "0x4090000040900000 True"
    files = sorted(tmp_path.rglob("*.o"))
    assert _python(RUN, tmp_path) == "0x4090000040900000 False"
    assert sorted(tmp_path.rglob("*")) == sorted([*files, *{file.parent for file in files}])
    kernels = source_digest(ROOT / "hw" / "kernels", ROOT / "hw" / "formats")
    engine = source_digest(ROOT / "hw" / "kernels", ROOT / "hw" / "formats", ROOT / "hw" / "engine")
    assert {file.parent.name for file in files} == {kernels, engine}


def test_environment_names_the_cache(empty_cache: Path) -> None:
    assert cache_root() == empty_cache


def test_digest_follows_the_sources(tmp_path: Path) -> None:
    source = tmp_path / "body.py"
    source.write_text("A = 1\n")
    before = source_digest(tmp_path)
    source.write_text("A = 2\n")
    assert source_digest(tmp_path) != before


def test_address_is_stable_and_kernels_compare_by_name(empty_cache: Path) -> None:
    again = Kernel(ZERO.name, Kind.LANES, ZERO.body, ZERO.reference)
    assert ZERO.address == ZERO.address != 0
    assert again == ZERO and hash(again) == hash(ZERO)


@integer_function
def _triangle(n):  # type: ignore[no-untyped-def]
    total = 0
    for k in range(n):
        total += k
    return total


@integer_function
def _digits(n):  # type: ignore[no-untyped-def]
    return len(str(n))


def test_integer_functions(empty_cache: Path) -> None:
    assert [_triangle(n) for n in (0, 1, 10)] == [0, 0, 45]
    assert _triangle.address != 0 and _triangle.__name__ == "_triangle"
    assert [path.name.split("-")[0].rsplit(".", 1)[-1] for path in empty_cache.rglob("*.o")] == ["_triangle"]


def test_code_that_needs_python_at_run_time_is_refused(empty_cache: Path) -> None:
    from hw.kernels.compile import CompileError

    with pytest.raises(CompileError, match="stands alone"):
        _digits(1)
    assert not list(empty_cache.rglob("*.o"))
