"""`trace_scope` and `trace_event`: spans of host work, written as a trace that Perfetto opens (mlsdk.md 10)."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from hw.trace.spans import Span, perfetto_spans
from mlsdk.errors import TraceError
from runtime.files import write_atomically
from runtime.observing import observing


class _Recorder:
    """Collects spans; times are nanoseconds since the start of the scope."""

    def __init__(self) -> None:
        self.start = time.perf_counter_ns()
        self.spans: list[Span] = []

    def span(self, name: str, begin: int, args: dict[str, Any]) -> None:
        self._add(name, "host", begin, time.perf_counter_ns(), args)

    def observe(self, name: str, begin: int, end: int) -> None:
        """What the device did on its own account, e.g. a copy in its memory."""
        self._add(name, "device", begin, end, {})

    def _add(self, name: str, category: str, begin: int, end: int, args: dict[str, Any]) -> None:
        thread = threading.get_native_id()
        self.spans.append(Span(name, category, begin - self.start, end - self.start, os.getpid(), thread, args))


def _chrome(spans: Sequence[Span]) -> str:
    """The Chrome trace format: complete events, times in microseconds."""
    events = [
        {
            "name": span.name,
            "cat": span.category,
            "ph": "X",
            "ts": span.begin / 1e3,
            "dur": (span.end - span.begin) / 1e3,
            "pid": span.pid,
            "tid": span.tid,
            "args": dict(span.args),
        }
        for span in spans
    ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})


_WRITERS: dict[str, Callable[[Sequence[Span]], str | bytes]] = {".json": _chrome, ".pb": perfetto_spans}


_recorder: ContextVar[_Recorder | None] = ContextVar("mlsdk_trace_recorder", default=None)


@contextmanager
def trace_scope(filename: str | os.PathLike[str] | None) -> Iterator[None]:
    """Record everything inside the block and write it to `filename` at its end; None records nothing.

    The extension decides the format: .json (Chrome) or .pb (Perfetto).  The file is written also when the block ends
    with an error.  Raises TraceError for another extension.
    """
    if filename is None:
        yield
        return
    target = Path(filename)
    if target.suffix not in _WRITERS:
        raise TraceError(
            f"{target}: traces of host work are written as {' or '.join(_WRITERS)}, not as "
            f"{target.suffix or 'a file without extension'}"
        )
    recorder = _Recorder()
    token, observer = _recorder.set(recorder), observing.set(recorder.observe)
    try:
        yield
    finally:
        _recorder.reset(token)
        observing.reset(observer)
        write_atomically(target, _WRITERS[target.suffix](recorder.spans))


@contextmanager
def trace_event(name: str, **args: Any) -> Iterator[None]:
    """A named span of host work inside a scope; outside of one it does nothing.  `args` are shown with the span."""
    recorder = _recorder.get()
    if recorder is None:
        yield
        return
    begin = time.perf_counter_ns()
    try:
        yield
    finally:
        recorder.span(name, begin, args)
