"""The dashboard in a headless browser: scripts work under the page's own policy, nothing leaves the machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.browser import perfetto_ui
from tests.compiler.models import mlp

_MISSING = perfetto_ui.missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_MISSING is not None, reason=f"browser tests need more: {_MISSING}"),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A served codegen_dir."""
    uvicorn = pytest.importorskip("uvicorn", reason="needs the extra dashboard")
    from runtime.cli import main
    from runtime.dashboard.app import make_app

    base = tmp_path_factory.mktemp("browser")
    onnx.save(mlp(8, [1, 8, 8], 16, 4), base / "small.onnx")
    assert main(["compile", str(base / "small.onnx"), "--outdir", str(base / "small")]) == 0
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(make_app(base / "small"), log_level="warning"))
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture
def page(url: str) -> Iterator[Any]:
    """A browser page; it fails the test on script errors and on answers from elsewhere."""
    from playwright.sync_api import sync_playwright

    outside: list[str] = []
    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=perfetto_ui.browser_path(), args=["--no-sandbox"])
        made = browser.new_page(viewport={"width": 1400, "height": 900})
        made.set_default_timeout(perfetto_ui.TIMEOUT_MS)
        made.on("pageerror", lambda error: errors.append(str(error)))
        made.on("requestfinished", lambda request: outside.append(request.url))
        yield made
        browser.close()
    assert not errors
    assert not [address for address in outside if not address.startswith((url, "data:", "blob:"))]


def test_tables_sort_and_filter(page: Any, url: str) -> None:
    page.goto(f"{url}/layers")
    cells = "[...document.querySelectorAll('#layers tbody tr')].map(row => row.cells[4].textContent)"
    cycles = f"() => {cells}.map(text => Number(text.replaceAll(',', '')))"
    before = page.evaluate(cycles)
    page.click("#layers th:nth-child(5)")
    assert page.evaluate(cycles) == sorted(before, reverse=True)
    page.click("#layers th:nth-child(5)")
    assert page.evaluate(cycles) == sorted(before)
    page.fill("input[data-filter]", "gemm")
    shown = page.locator("#layers tbody tr:visible").all_inner_texts()
    assert shown and all("gemm" in text.lower() for text in shown) and len(shown) < len(before)


def test_timeline_draws_and_zooms(page: Any, url: str, tmp_path: Path) -> None:
    page.goto(f"{url}/timeline?file=trace.json")
    page.wait_for_selector("canvas[data-ready]")
    colours = """() => { const c = document.getElementById('timeline'), p = c.getContext('2d');
        return new Set(new Uint32Array(p.getImageData(0, 0, c.width, c.height).data.buffer)).size; }"""
    assert page.evaluate(colours) > 10
    first = page.evaluate("() => document.getElementById('timeline').toDataURL()")
    page.click("#slowest tbody tr")
    assert page.evaluate("() => document.getElementById('timeline').toDataURL()") != first
    box = page.locator("#timeline").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    slowest = page.locator("#slowest tbody tr td").first.inner_text()
    assert slowest in page.locator("#under").inner_text()


def test_pages_of_the_folder_run_in_their_sandbox(page: Any, url: str) -> None:
    page.goto(f"{url}/tools?file=layout.html")
    frame = page.frame_locator("iframe")
    rows = frame.locator("tbody tr:visible").count()
    frame.locator("input").fill("no such value")
    assert rows > 0 and frame.locator("tbody tr:visible").count() == 0


def test_the_button_opens_the_trace_in_perfetto(page: Any, url: str) -> None:
    page.goto(f"{url}/timeline?file=trace.json")
    target = page.get_attribute("#perfetto", "href")
    page.goto(f"{url}{target}")
    page.wait_for_function("() => self.app?.trace?.engine && !self.app.isLoadingTrace")
    count = """async () => Number((await self.app.trace.engine.query(
        'select count(*) as c from slice')).firstRow({c: 0}).c)"""
    assert page.evaluate(count) > 100
