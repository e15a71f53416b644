"""One browser for a file of tests, a page for each, and the folders that they show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.dashboard import chromium, compile_steps, dashboard, watched_page


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """See `compile_steps`; tests must not change the folders."""
    return compile_steps(tmp_path_factory.mktemp("steps"))


@pytest.fixture(scope="module", params=["eval_step", "train_step"])
def folder(request: pytest.FixtureRequest, steps: dict[str, Path]) -> Path:
    """The codegen_dir that the test is about."""
    return steps[request.param]


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """The address of its dashboard."""
    pytest.importorskip("uvicorn", reason="needs the extra dashboard")
    with dashboard(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as made:
        yield made


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """See `watched_page`."""
    with watched_page(browser) as made:
        yield made
