"""Progress of a compilation for people: a line on standard error that appears when it takes longer than two seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from compiler.phases import Watcher, unwatched

PATIENCE_SECONDS = 2.0


@contextmanager
def watching(title: str, patience: float = PATIENCE_SECONDS) -> Iterator[Watcher]:
    """Yield what `compile_model` tells its phases; nothing is shown where no terminal looks on."""
    screen = Console(stderr=True, highlight=False)
    if not screen.is_terminal:
        yield unwatched
        return
    status = Status(escape(title), console=screen)
    timer = threading.Timer(patience, status.start)
    timer.daemon = True
    timer.start()

    def watch(phase: str, done: int, total: int) -> None:
        count = f" {done}" + (f" of {total}" if total else "") if done else ""
        status.update(escape(f"{title}: {phase}{count}"))

    try:
        yield watch
    finally:
        timer.cancel()
        timer.join()
        status.stop()
