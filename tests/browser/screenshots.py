"""`python -m tests.browser.screenshots docs/img` renews the pictures of the dashboard in the documentation.

They show the tutorial's eval_step and train_step, compiled anew.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.dashboard import chromium, compile_steps, dashboard, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 150_000
COLOURS = 256


def _slowest_first(page: Page) -> None:
    page.click("#layers th:text-is('cycles')")


def _slowest_pointed_at(page: Page) -> None:
    page.wait_for_selector("canvas[data-ready]")
    box = page.locator("#timeline").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 10)


def _graph_drawn(page: Page) -> None:
    page.frame_locator("iframe").locator("g.node").first.wait_for()
    page.wait_for_timeout(500)  # it fades in


def _nothing(page: Page) -> None:
    pass


#: The name of a picture, the step and the page that it shows, and what is done there first.
PICTURES: tuple[tuple[str, str, str, Callable[[Page], None]], ...] = (
    ("summary", "train_step", "/", _nothing),
    ("layers", "train_step", "/layers", _slowest_first),
    ("timeline", "train_step", "/timeline?file=trace.json", _slowest_pointed_at),
    ("graph", "eval_step", "/graph?file=l3ir_stripped.onnx.zst", _nothing),
    ("netron", "eval_step", "/netron?file=l3ir_stripped.onnx.zst", _graph_drawn),
    ("layout", "eval_step", "/layout?value=addmm_fx2onnx&index=37,200", _nothing),
)


def take(steps: dict[str, Path], out: Path) -> list[Path]:
    """Write `dashboard_<name>.png` for all PICTURES; returns the paths."""
    made: list[Path] = []
    with chromium() as browser:
        for step, folder in steps.items():
            with dashboard(folder) as address:
                for name, of, path, prepare in PICTURES:
                    if of != step:
                        continue
                    with watched_page(browser, WIDTH, HEIGHT) as page:
                        page.goto(address + path)
                        # where the folder happened to be is nothing to read in a manual
                        shown = f"out/mnist/{step}"
                        page.locator(".path").evaluate("(place, text) => { place.textContent = text }", shown)
                        prepare(page)
                        target = out / f"dashboard_{name}.png"
                        page.screenshot(path=target)
                    _shrink(target)
                    made.append(target)
    return made


def _shrink(path: Path) -> None:
    """Reduce a picture to a palette; fails if it stays too large for a repository."""
    from PIL import Image

    with Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    reduced.save(path, optimize=True)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")


def main(out: Path) -> None:
    """Compile both steps and take all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for path in take(compile_steps(Path(folder)), out):
            print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
