"""One simulated board at work: its memories, the DRAM map, the value pass and the memoised time of programs."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from runtime.dram import DramAllocator
from runtime.errors import DeviceError, DevicePoisonedError, ExecutionError
from runtime.work_queue import WorkQueue

if TYPE_CHECKING:
    from hw.engine import LoweredProgram
    from hw.model import Timing
    from hw.program import Program
    from hw.state import Board
    from hw.state.fill import Fill

VALUE_PASS, TO_DEVICE, TO_HOST = "value pass", "host transposition", "device to host"
INSIDE = "copy inside DRAM"


class Executor:
    """Runs lowered programs on one board.

    `timed`: also account for time with the cycle model.  The chip is deterministic and its timing independent of
    data, so the time of a program is simulated once and holds for every run.  Whoever asks for a run puts it into
    `queue`, which keeps the order.  `seconds`: the simulator's own time by what it was spent on.  fill: what the
    memories hold at the start, zeros without one.
    """

    def __init__(self, *, timed: bool, fill: Fill | None = None) -> None:
        from hw.state import Board

        self.timed = timed
        self.board: Board = Board()
        if fill is not None:
            from hw.state.fill import fill_board

            fill_board(self.board, fill)
        self.memory = DramAllocator(len(self.board.dram[0]))
        self._busy_cycles = 0
        self._timings: dict[str, Timing] = {}
        self._failure: BaseException | None = None
        self._closed = False
        self.queue = WorkQueue("mncore2 board")
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def clocked(self, what: str) -> Iterator[None]:
        """Add the wall time of the block to `seconds[what]`: what the simulator spends its own time on."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] += time.perf_counter() - begin

    def lower(self, program: Program) -> LoweredProgram:
        """Turn a decoded program into the engine's tables (reusable for any number of runs).  Raises ExecutionError."""
        from hw.engine import EngineError, lower

        try:
            return lower(program)
        except EngineError as error:
            raise ExecutionError(f"the chip cannot run the program: {error}") from error

    def timing(self, program: Program) -> Timing:
        """Simulated time of a program, computed once per VSM text."""
        from hw.model import simulate
        from hw.spec import default_spec

        key = hashlib.sha256(program.source.encode()).hexdigest()
        if key not in self._timings:
            self._timings[key] = simulate(program, default_spec())
        return self._timings[key]

    @property
    def busy_cycles(self) -> int:
        """Core cycles of all runs; waits for those that are under way."""
        self.queue.drain()
        return self._busy_cycles

    def close(self) -> None:
        """Finish what was asked for and refuse further runs."""
        self.queue.stop()
        self._closed = True

    def check(self) -> None:
        """Raise DeviceError or DevicePoisonedError when no program can run any more."""
        if self._closed:
            raise DeviceError("the device was closed")
        if self._failure is not None:
            raise DevicePoisonedError(
                f"an earlier run on this device failed ({self._failure or type(self._failure).__name__}); "
                "its memories are kept for inspection, open a new device to go on"
            ) from self._failure

    def run(self, lowered: LoweredProgram, cycles: int | None = None) -> None:
        """Run once.  A failure poisons the board: its state stays frozen for inspection and later runs are refused.

        Raises ExecutionError (the engine's error is its cause), DevicePoisonedError or DeviceError.
        """
        self.check()
        try:
            with self.clocked(VALUE_PASS):
                lowered.run(self.board)
        except BaseException as error:  # also an interrupt from the keyboard leaves the memories half-way
            self._failure = error
            if isinstance(error, Exception):
                raise ExecutionError(f"the chip refused the program: {error}") from error
            raise
        self._busy_cycles += cycles or 0
