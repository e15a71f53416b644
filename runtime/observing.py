"""Who wants to know what a device does on its own account: copies in its memory, in the order of its work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

# Called with a name, begin and end in nanoseconds of `time.perf_counter_ns`, from any thread.
Observer: TypeAlias = Callable[[str, int, int], None]

#: The observer of the calls that are made in this context.
observing: ContextVar[Observer | None] = ContextVar("mncore2_observer", default=None)


@contextmanager
def observed(observer: Observer | None, name: str) -> Iterator[None]:
    """Tell the observer, if there is one, when the block ran."""
    begin = time.perf_counter_ns()
    try:
        yield
    finally:
        if observer is not None:
            observer(name, begin, time.perf_counter_ns())
