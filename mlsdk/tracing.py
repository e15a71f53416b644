"""`trace_scope` and `trace_event`: spans of host work, written as a Chrome trace that Perfetto opens (mlsdk.md 10)."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from mlsdk.errors import TraceError
from runtime.files import write_atomically


class _Recorder:
    """Collects complete events; times are microseconds since the start of the scope."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.events: list[dict[str, Any]] = []

    def span(self, name: str, begin: float, args: dict[str, Any]) -> None:
        end = time.perf_counter()
        self.events.append(
            {
                "name": name,
                "cat": "host",
                "ph": "X",
                "ts": (begin - self.start) * 1e6,
                "dur": (end - begin) * 1e6,
                "pid": os.getpid(),
                "tid": threading.get_native_id(),
                "args": args,
            }
        )


_recorder: ContextVar[_Recorder | None] = ContextVar("mlsdk_trace_recorder", default=None)


@contextmanager
def trace_scope(filename: str | os.PathLike[str] | None) -> Iterator[None]:
    """Record everything inside the block and write it to `filename` (.json) at its end; None records nothing.

    The file is written also when the block ends with an error.  Raises TraceError for another extension.
    """
    if filename is None:
        yield
        return
    target = Path(filename)
    if target.suffix != ".json":
        raise TraceError(
            f"{target}: traces of host work are written as .json, not as {target.suffix or 'a file without extension'}"
        )
    recorder = _Recorder()
    token = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(token)
        write_atomically(target, json.dumps({"traceEvents": recorder.events, "displayTimeUnit": "ms"}))


@contextmanager
def trace_event(name: str, **args: Any) -> Iterator[None]:
    """A named span of host work inside a scope; outside of one it does nothing.  `args` are shown with the span."""
    recorder = _recorder.get()
    if recorder is None:
        yield
        return
    begin = time.perf_counter()
    try:
        yield
    finally:
        recorder.span(name, begin, args)
