"""Settings that hold for every test: one thread per xdist worker and no state of the user's machine."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

if os.environ.get("PYTEST_XDIST_WORKER"):
    # Workers already use every core; pools inside them would only fight.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


_COUNTER = itertools.count()


@pytest.fixture(autouse=True)
def private_lock_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Board locks of a test must not meet those of another worker or of a program the user runs meanwhile."""
    previous = os.environ.get("MNCORE2_RUNTIME_DIR")
    os.environ["MNCORE2_RUNTIME_DIR"] = str(tmp_path_factory.getbasetemp() / f"boards{next(_COUNTER)}")
    yield
    if previous is None:
        del os.environ["MNCORE2_RUNTIME_DIR"]
    else:
        os.environ["MNCORE2_RUNTIME_DIR"] = previous


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that belongs to this test alone."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("MNCORE2_CACHE", str(folder))
    return folder
