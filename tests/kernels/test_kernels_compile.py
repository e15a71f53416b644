"""The compile cache: content-addressed folders, stable keys between processes, lazy imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from hw.kernels.abi import Kernel, Kind
from hw.kernels.alu_misc import ZERO
from hw.kernels.compile import cache_root, jit, source_digest

ROOT = Path(__file__).parent.parent.parent


def _python(code: str, cache: Path) -> str:
    environment = {**os.environ, "MNCORE2_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_kernels_import_without_numba(tmp_path: Path) -> None:
    modules = "alu_float, alu_misc, bfn, matrix_move, mau_matrix, mau_vector, modifiers, rrn"
    assert _python(f"import sys; from hw.kernels import {modules}; print('numba' in sys.modules)", tmp_path) == "False"


def test_second_process_loads_compiled_code(tmp_path: Path) -> None:
    code = (
        "from hw.kernels.alu_int import ALU_INT; k = ALU_INT['add', 'i', False]; k.address; "
        "print(k._compiled['cfunc'].cache_hits)"
    )
    assert _python(code, tmp_path) == "0"
    assert _python(code, tmp_path) == "1"
    (folder,) = tmp_path.iterdir()
    assert folder.name == source_digest(ROOT / "hw" / "kernels", ROOT / "hw" / "formats")


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


def test_jit_compiles_ordinary_functions(empty_cache: Path) -> None:
    @jit
    def total(values):  # type: ignore[no-untyped-def]
        out = 0
        for value in values:
            out += value
        return out

    assert total(np.arange(10)) == 45
    assert list(empty_cache.rglob("*.nbi"))
