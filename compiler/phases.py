"""Names, times and outcome of the phases of one compilation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Told what goes on: the name of the phase, and how much of how much is done (0 of 0 where that is unknown).
Watcher = Callable[[str, int, int], None]


def unwatched(phase: str, done: int, total: int) -> None:
    """Nobody looks on."""


class Phases:
    """A phase that runs for several variants adds up."""

    def __init__(self, watcher: Watcher = unwatched) -> None:
        self.records: list[dict[str, Any]] = []
        self._watcher = watcher
        self._current = ""

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time a phase."""
        self._current = name
        self._watcher(name, 0, 0)
        start = time.perf_counter()
        yield
        seconds = round(time.perf_counter() - start, 4)
        for record in self.records:
            if record["name"] == name:
                record["seconds"] = round(record["seconds"] + seconds, 4)
                return
        self.records.append({"name": name, "status": "success", "seconds": seconds})

    def progress(self, done: int, total: int) -> None:
        """How far the current phase is."""
        self._watcher(self._current, done, total)
