"""Measuring many probes: in this process, and when that takes long in worker processes beside it.

A worker is a fresh interpreter that runs `compiler.nodesim.worker`: it never imports the program that called the
compiler, so scripts without a `__main__` guard are safe, and it inherits no threads or locks.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from compiler.errors import CompilerError
from compiler.nodesim.measure import Result, measure
from compiler.nodesim.probe import Probe

#: Seconds of work that starting a worker costs; below that this process measures alone.
PATIENCE_SECONDS = 2.0
_PER_MESSAGE = 4


def measure_all(probes: Sequence[Probe], threads: int, done: Callable[[int], None]) -> list[Result]:
    """Results in the order of the probes.  `done(n)` is told how many are finished.  threads: workers at most."""
    results: list[Result] = []
    begin = time.perf_counter()
    for probe in probes:
        if threads > 1 and len(probes) - len(results) > threads and time.perf_counter() - begin > PATIENCE_SECONDS:
            break
        results.append(measure(probe))
        done(len(results))
    rest = list(probes[len(results) :])
    return results + (_in_processes(rest, threads, lambda n: done(n + len(probes) - len(rest))) if rest else [])


def _in_processes(probes: list[Probe], threads: int, done: Callable[[int], None]) -> list[Result]:
    pieces = [probes[k : k + _PER_MESSAGE] for k in range(0, len(probes), _PER_MESSAGE)]
    count = min(threads, len(pieces))
    shares = [list(range(worker, len(pieces), count)) for worker in range(count)]
    answers: list[list[Result]] = [[] for _ in pieces]
    finished = 0

    def drive(share: list[int]) -> None:
        nonlocal finished
        with _Worker() as worker:
            for piece in share:
                answers[piece] = worker.ask(pieces[piece])
                finished += len(pieces[piece])
                done(finished)

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(drive, share) for share in shares]:
            future.result()
    return [result for answer in answers for result in answer]


class _Worker:
    """A worker process that answers lists of probes with lists of results over its pipes."""

    def __enter__(self) -> _Worker:
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "compiler.nodesim.worker"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
        return self

    def ask(self, probes: list[Probe]) -> list[Result]:
        """Measure some probes.  Raises CompilerError when the worker died."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            pickle.dump(probes, self._process.stdin)
            self._process.stdin.flush()
            answer: list[Result] = pickle.load(self._process.stdout)
        except (BrokenPipeError, EOFError) as error:
            code = self._process.wait()
            labels = ", ".join(probe.label for probe in probes)
            raise CompilerError(f"node simulation: a worker process ended with code {code} at {labels}") from error
        return answer

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        if error[0] is not None:
            self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
