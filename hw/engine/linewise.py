"""`LineRun`: a program executed line by line, for lock-step and debugging; slower than whole segments, same values."""

from __future__ import annotations

from collections.abc import Callable

from hw.engine.actions import Fault
from hw.engine.execute import Execution, OnDebug
from hw.engine.lower import lower
from hw.program import Mv, Program
from hw.state.board import Board


class LineRun:
    """One run of `program` on `board`.  `position` is the index in `program.lines` of the next line.

    move: called for every MV in place of the transfer itself; None lets it complete at once.  Raises the errors of
    `hw.engine.errors` where `hw.engine.execute` would; afterwards the run stays at the failing line.
    """

    def __init__(
        self,
        program: Program,
        board: Board,
        *,
        on_debug: OnDebug | None = None,
        move: Callable[[Mv], None] | None = None,
    ) -> None:
        self.program = program
        self.position = 0
        self._lowered = lower(program, board.topology, separate=True)
        self._execution = Execution(self._lowered, board, on_debug=on_debug, threads=1, move=move)

    @property
    def done(self) -> bool:
        """Have all lines been executed?"""
        return self.position >= len(self.program.lines)

    @property
    def stop(self) -> int:
        """Index of the line at which a run must fail whatever the values (e.g. a deadlock), or the number of lines."""
        lowered = self._lowered
        fault = next((i for i, action in enumerate(lowered.actions) if isinstance(action, Fault)), None)
        if fault is None:
            return len(self.program.lines)
        return next(i for i, start in enumerate(lowered.line_starts[1:]) if start > fault)

    def step(self) -> None:
        """Execute the next line."""
        starts = self._lowered.line_starts
        for action in self._lowered.actions[starts[self.position] : starts[self.position + 1]]:
            self._execution.perform(action)
        self.position += 1
        if self.done:
            self._execution.finish()
