"""`execute`: the value pass of a program on a board; `LoweredProgram` keeps the lowered form for later runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

import numpy as np

from hw.engine.actions import Action, DebugAction, Fault, LatchCheck, MvAction, Segment
from hw.engine.errors import Deadlock, LoweringError
from hw.engine.lower import Lowered, invalid_latch
from hw.engine.lower import lower as _lower
from hw.engine.machine import Machine
from hw.engine.moves import Transfer
from hw.program import Debug, Mv, Program, Unit
from hw.state.board import Board, LatchState
from hw.state.topology import Topology

OnDebug = Callable[[Debug, Board], None]


class Execution:
    """A run in progress: performs the actions of a lowered program one by one.  A context manager (it may own threads).

    move: what to do with an MV; by default it completes at once.  general: makes the form to use instead of `lowered`
    while that one's assumption does not hold (some base address register is not 0).
    """

    def __init__(
        self,
        lowered: Lowered,
        board: Board,
        *,
        on_debug: OnDebug | None = None,
        threads: int | None = None,
        strict: bool = True,
        move: Callable[[Mv], None] | None = None,
        general: Callable[[], Lowered] | None = None,
    ) -> None:
        if board.topology != lowered.topology:
            raise LoweringError(f"lowered for {lowered.topology}, but the board has {board.topology}")
        self._lowered, self._board = lowered, board
        self._on_debug, self._strict = on_debug, strict
        self._move = move or (lambda mv: Transfer(mv, board).run())
        self._general = general
        self._blocked = False
        if lowered.stale_start and not board.t_pending:
            board.t_previous[:] = board.t
        self._threads = threads or os.cpu_count() or 1
        self._machines: dict[bool, Machine] = {}  # by: is it the general form?
        self._now: Machine | None = None  # None: the registers must be looked at
        self._helpers: ThreadPoolExecutor | None = None

    def __enter__(self) -> Execution:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._helpers is not None:
            self._helpers.shutdown()

    def perform(self, action: Action) -> None:
        """The next action of the program."""
        if isinstance(action, DebugAction):
            _debug(action, self._board, self._on_debug)
            self._now = None
        elif self._blocked:
            return
        elif isinstance(action, Segment):
            self._now = self._now or self._machine()
            self._now.run(action.number)
        elif isinstance(action, MvAction):
            self._move(action.mv)
        elif isinstance(action, LatchCheck):
            _check_latch(action, self._board)
        elif isinstance(action, Fault):
            if self._strict or not isinstance(action.error, Deadlock):
                raise action.error.with_traceback(None)
            self._blocked = True
        else:
            action.run(self._board)

    def _machine(self) -> Machine:
        """The machine whose form fits the base address registers as they are now."""
        general = self._lowered.assumes_zero_bars and self._general is not None and bool(self._board.bar.any())
        machine = self._machines.get(general)
        if machine is None:
            lowered = self._general() if general and self._general else self._lowered
            machine = self._machines[general] = Machine(lowered, self._board, self._threads, self._pool)
        return machine

    def _pool(self) -> ThreadPoolExecutor:
        if self._helpers is None:
            self._helpers = ThreadPoolExecutor(self._threads)
        return self._helpers

    def finish(self) -> None:
        """All actions are done: record what the next program on this board must know."""
        lowered, board = self._lowered, self._board
        if lowered.ends_with_t is not None:
            board.t_pending = lowered.ends_with_t
        board.alu_state = lowered.latches[Unit.ALU] or board.alu_state
        board.mau_state = lowered.latches[Unit.MAU] or board.mau_state


class LoweredProgram:
    """A program ready to run any number of times.  Two runs must not share a board at the same time.

    There are two forms with the same actions: one that is right while base address registers are 0 unless the program
    itself sets them, and a general one, made when a board needs it.
    """

    def __init__(self, program: Program, topology: Topology | None = None, *, fast: bool = True) -> None:
        self._program, self._topology, self._fast = program, topology, fast
        self._lowered = _lower(program, topology, bars_zero=True, fast=fast)
        self._general_form: Lowered | None = None

    def run(
        self, board: Board, *, on_debug: OnDebug | None = None, threads: int | None = None, strict: bool = True
    ) -> None:
        """Execute the program on `board`; see `execute`."""
        with Execution(
            self._lowered, board, on_debug=on_debug, threads=threads, strict=strict, general=self._general
        ) as execution:
            for action in self._lowered.actions:
                execution.perform(action)
        execution.finish()

    def _general(self) -> Lowered:
        if self._general_form is None:
            self._general_form = _lower(self._program, self._topology, fast=self._fast)
        return self._general_form


def _debug(action: DebugAction, board: Board, on_debug: OnDebug | None) -> None:
    """Hand the line to the caller.  T set from outside is visible at once, in all cycles of that PE (observed)."""
    if on_debug is None:
        return
    if not action.watch_t:
        on_debug(action.debug, board)
        return
    before = board.t.copy()
    on_debug(action.debug, board)
    changed = (board.t != before).reshape(-1, 8, 64).any(axis=1)
    if changed.any():
        fresh = board.t.reshape(-1, 8, 64)
        old = board.t_previous.reshape(-1, 8, 64)
        np.copyto(old, fresh, where=changed[:, None, :])


def _check_latch(action: LatchCheck, board: Board) -> None:
    state = board.alu_state if action.unit is Unit.ALU else board.mau_state
    if state is not LatchState.VALID:
        raise invalid_latch(action.unit, state, action.line, action.text)


def lower(program: Program, topology: Topology | None = None, *, fast: bool = True) -> LoweredProgram:
    """Lower a program for boards of the given size (MN-Core 2 without one).  LoweringError for impossible lines.

    fast=False leaves out the stand-ins of `hw.kernels.fast`: slower, the same bits.
    """
    return LoweredProgram(program, topology, fast=fast)


def execute(
    program: Program,
    board: Board,
    *,
    on_debug: OnDebug | None = None,
    threads: int | None = None,
    strict: bool = True,
) -> None:
    """Run the value pass of `program` on `board`.

    on_debug: called for every debug line with the state the lines before it left.  threads: at most this many run at a
    time (default: one per core); results do not depend on it.  strict: a wait that can never end raises Deadlock;
    without it all later steps and MVs are skipped, as the vendor's emulator does (isa.md 2.5).
    Raises the errors of `hw.engine.errors`, each with its source line.  After an error the board holds the state of the
    lines before the failing one, except that L1Bs may already be further inside the failing segment.
    """
    lower(program, board.topology).run(board, on_debug=on_debug, threads=threads, strict=strict)
