"""The order of work on one board: a thread that does one job after the other, so that a call returns before it is done.

The host sends the next batch while the chip computes (seed 4.5.4); only reading a result waits.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

#: Jobs that may wait; a program that never reads a result does not pile up more than this.
DEPTH = 16

Job = Callable[[], None]


class WorkQueue:
    """Jobs run in the order of `submit`.

    A job that fails is reported by the next `drain`; the jobs behind it still run, since each decides by the state of
    the board whether it can.  The thread starts with the first job and dies with the process.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.Queue[Job | None] = queue.Queue(DEPTH)
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def submit(self, job: Job) -> None:
        """Append a job; waits while the queue is full.  From a job of this queue, run it at once."""
        if self._is_worker():
            job()
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def drain(self) -> None:
        """Wait until everything submitted is done; raise what went wrong first, once.  No-op inside a job."""
        if self._is_worker() or self._thread is None:
            return
        self._jobs.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def stop(self) -> None:
        """Finish what was submitted and end the thread; failures are dropped."""
        if self._thread is not None and not self._is_worker():
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _is_worker(self) -> bool:
        return threading.current_thread() is self._thread

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                if job is None:
                    return
                job()
            except BaseException as error:  # reported by `drain`, whatever it is
                self._failure = self._failure or error
            finally:
                del job  # what it holds is given up before anybody who waits goes on
                self._jobs.task_done()
