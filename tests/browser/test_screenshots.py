"""The pictures of the documentation can be taken at any time, and stay small."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import perfetto_ui
from tests.browser.screenshots import HEIGHT, MOST_BYTES, WIDTH, take

_MISSING = perfetto_ui.missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_MISSING is not None, reason=f"browser tests need more: {_MISSING}"),
]


def test_all_pictures_of_the_documentation(steps: dict[str, Path], tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow reduces the pictures")
    made = take(steps, tmp_path)
    documented = Path(__file__).parents[2] / "docs" / "img"
    assert {path.name for path in made} == {path.name for path in documented.glob("dashboard_*.png")}
    for path in (*made, *documented.glob("dashboard_*.png")):
        with image.open(path) as picture:
            assert picture.size == (WIDTH, HEIGHT) and len(picture.getcolors()) > 8
        assert path.stat().st_size < MOST_BYTES
