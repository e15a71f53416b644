"""The dashboard of a folder in a headless browser, and the folders of the tutorial's two steps to show in it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.perfetto_ui import TIMEOUT_MS, browser_path

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OPTIONS = Path(__file__).parents[2] / "mlsdk" / "examples" / "train_options.json"
# Whatever a page asks for, no name but the loopback address is ever looked up.
_ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def compile_steps(folder: Path) -> dict[str, Path]:
    """The codegen_dirs of the tutorial's eval_step (batch 125) and train_step (batch 64) by name; no data is needed."""
    import torch

    from mlsdk import Context, MNDevice, storage
    from mlsdk.examples.mnist_common import MNCoreClassifier, make_eval_step
    from mlsdk.examples.mnist_train import BATCH, EVAL_BATCH, make_train_step, prepare

    torch.manual_seed(0)
    model, context = MNCoreClassifier(), Context(MNDevice("mncore2:auto"))
    Context.switch_context(context)
    optimizer = prepare(context, model)
    path, options = storage.path(str(folder)), {"option_json": str(OPTIONS)}
    for name, step, batch in (
        ("train_step", make_train_step(model, optimizer), BATCH),
        ("eval_step", make_eval_step(model), EVAL_BATCH),
    ):
        training = name == "train_step"
        model.train(training)
        sample = {"x": torch.rand(batch, 1, 32, 32), "t": torch.zeros(batch, dtype=torch.int64)}
        context.compile(step, sample, path / name, options=options, training=training)
    return {name: folder / name for name in ("eval_step", "train_step")}


@contextmanager
def dashboard(folder: Path) -> Iterator[str]:
    """Serve the folder while the block runs; yields the address without a last slash."""
    import uvicorn

    from runtime.dashboard.app import make_app

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        config = uvicorn.Config(make_app(folder), log_level="warning", timeout_graceful_shutdown=2)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without the world."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox", _ALONE])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched_page(browser: Browser, width: int = 1400, height: int = 900) -> Iterator[Page]:
    """A page; afterwards no script of it failed, nothing was refused, and it never turned to another server."""
    asked: list[str] = []
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    context.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    try:
        yield page
    finally:
        context.close()
    assert not wrong
    assert not [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))]
