"""Where points are simulated: in this process, in worker processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

from hw.model import Stream
from hw.spec import ChipSpec
from runtime.studies.errors import ClusterError, StudyError
from runtime.studies.point import Outcome, Point, simulate_point

_AHEAD = 2  # points handed out per worker: enough to keep it busy, few enough to stop soon


class Pool(Protocol):
    """Simulates points in any order; closing the iterator gives up what is not finished."""

    def run(self, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        """Each point with its outcome as soon as it is known."""
        ...


class LocalPool:
    """`workers` processes of this machine (default: one per core); a single one is this process itself."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or os.cpu_count() or 1

    def run(self, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        workers = min(self._workers, len(points))
        if workers <= 1:
            for point in points:
                yield point, simulate_point(point.program.stream, point.chip.spec)
            return
        yield from _in_processes(points, workers)


def _in_processes(points: Sequence[Point], workers: int) -> Iterator[tuple[Point, Outcome]]:
    with tempfile.TemporaryDirectory(prefix="mncore2-study-") as folder:
        # A program is written once and read once per worker instead of travelling with every point.
        paths: dict[str, str] = {}
        for stream in (point.program.stream for point in points):
            if stream.digest not in paths:
                paths[stream.digest] = str(Path(folder) / stream.digest)
                Path(paths[stream.digest]).write_bytes(pickle.dumps(stream))
        # Spawned, not forked: the parent may have threads (torch, numba) that a fork would leave in the middle of work.
        executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_prepare_worker)
        queue = iter(points)
        running: dict[Future[Outcome], Point] = {}
        try:
            while True:
                while len(running) < _AHEAD * workers and (point := next(queue, None)) is not None:
                    path = paths[point.program.stream.digest]
                    running[executor.submit(_simulate_file, path, point.chip.spec)] = point
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        except BrokenProcessPool as error:
            raise StudyError("a worker process ended unexpectedly (memory?); try fewer with --workers") from error
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _prepare_worker() -> None:
    """Ctrl-C reaches all processes of a terminal and the parent decides; no worker outlives a killed parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@lru_cache(maxsize=2)
def _read_stream(path: str) -> Stream:
    stream = pickle.loads(Path(path).read_bytes())
    assert isinstance(stream, Stream)
    return stream


def _simulate_file(path: str, spec: ChipSpec) -> Outcome:
    return simulate_point(_read_stream(path), spec)


class DaskPool:
    """The workers of the Dask cluster whose scheduler is at `address`; they need this package installed."""

    def __init__(self, address: str, *, timeout: float = 10.0) -> None:
        self._address = address
        self._timeout = timeout

    def run(self, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        try:
            from distributed import Client, as_completed
        except ImportError as error:
            raise ClusterError("--scheduler needs Dask: pip install 'mncore2-sim[dask]'") from error
        try:
            client = Client(self._address, timeout=self._timeout, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at {self._address}: {error or type(error).__name__}"
            ) from error
        with client, client.as_current():
            if not client.scheduler_info()["workers"]:
                raise ClusterError(f"the Dask scheduler at {self._address} has no workers")
            streams: dict[str, Any] = {}
            futures: dict[Any, Point] = {}
            for point in points:
                stream = point.program.stream
                if stream.digest not in streams:
                    streams[stream.digest] = client.scatter(stream, hash=False)
                task = client.submit(simulate_point, streams[stream.digest], point.chip.spec, pure=False)
                futures[task] = point
            for future in as_completed(list(futures)):
                if future.status != "finished":
                    raise ClusterError(f"a Dask worker failed: {future.exception()!r}")
                yield futures.pop(future), future.result()
