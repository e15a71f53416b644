"""A compiled network and a browser-like client."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.compiler.models import mlp

pytest.importorskip("starlette", reason="needs the extra dashboard")
pytest.importorskip("httpx2", reason="starlette's test client needs httpx2")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete codegen_dir; tests must not change it."""
    from runtime.cli import main

    base = tmp_path_factory.mktemp("codegen")
    onnx.save(mlp(8, [1, 8, 8], 16, 4), base / "small.onnx")
    assert main(["compile", str(base / "small.onnx"), "--outdir", str(base / "small")]) == 0
    return base / "small"


@pytest.fixture
def changeable(compiled: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may damage."""
    return Path(shutil.copytree(compiled, tmp_path / "copy"))


@pytest.fixture
def client_of() -> Callable[[Path], Any]:
    """Makes a client of the dashboard of a folder."""
    from starlette.testclient import TestClient

    from runtime.dashboard.app import make_app

    return lambda folder: TestClient(make_app(folder), base_url="http://localhost", raise_server_exceptions=True)
