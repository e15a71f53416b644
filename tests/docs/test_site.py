"""`make docs` builds without a complaint, and nothing in the site is fetched from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.perfetto_ui import browser_path, missing
from tests.docs.markdown import DOCS, ROOT

pytest.importorskip("mkdocs", reason="needs the extra docs")
pytest.importorskip("material", reason="needs the extra docs")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_every_page_is_built(site: Path) -> None:
    expected = {page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")} | {Path("readme.html")}
    assert expected <= {page.relative_to(site) for page in site.rglob("*.html")}


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    """Pages, styles and scripts name no foreign address that a browser would load by itself."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe|source)[^>]+src=\"?(?:https?:)?//[^\s>]+", text), page
        assert not re.findall(r"<link[^>]+href=\"?(?:https?:)?//[^\s>]+", text), page
    for style in site.rglob("*.css"):
        assert not re.findall(r"@import|url\(\"?https?:[^)]+", style.read_text(encoding="utf-8")), style


@pytest.mark.slow
def test_the_search_index_is_a_script(site: Path) -> None:
    """Pages of the file system may load scripts but not data."""
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    assert (site / "assets" / "iframe-worker.js").is_file()


@pytest.mark.slow
def test_search_works_from_the_file_system(site: Path) -> None:
    """A page opened as a file finds others, with no request that leaves the folder."""
    if (lacking := missing()) is not None:
        pytest.skip(lacking)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = browser.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.click("input.md-search__input")
        page.keyboard.type("sanitizers", delay=50)
        page.wait_for_selector(".md-search-result a[href*='debugging.html']", state="attached")
        browser.close()
    assert [url for url in requests if not url.startswith((site.as_uri(), "data:"))] == []
