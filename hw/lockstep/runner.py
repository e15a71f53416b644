"""`Lockstep`: runs a program event by event in the order of time, values included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

from hw.engine import OnDebug
from hw.engine.linewise import LineRun
from hw.lockstep.observer import Kind, Moment, Observer
from hw.lockstep.schedule import Schedule, schedule
from hw.lockstep.transfer import SplitTransfer
from hw.model import Timing
from hw.program import L2Move, Mem, Mv, PeStore, Program, Step
from hw.spec import ChipSpec
from hw.state.board import Board

_ARRIVAL, _READ = 0, 1  # at equal times arrivals come first, then reads, then lines


def writes_t(step: Step) -> bool:
    """Has the step T as a destination?"""
    return any(
        dest.mem is Mem.T for item in step.items if not isinstance(item, PeStore | L2Move) for dest in item.dests
    )


@dataclass(frozen=True)
class LockstepResult:
    """`cycles`: end of the last event of this run; `timing`: what the time model alone says about the program."""

    cycles: int
    timing: Timing


class Lockstep:
    """One run of `program` on `board`.

    A step sees every MV whose completion is not later than its issue, whether the program waits for it or not.  An MV
    reads its source when its data phase begins.  Programs that wait properly cannot tell this from `hw.engine.execute`.

    Raises the errors of `hw.engine` (values) and `hw.model` (time), and whatever observers raise.
    """

    def __init__(
        self,
        program: Program,
        board: Board,
        spec: ChipSpec | None = None,
        *,
        observers: Iterable[Observer] = (),
        on_debug: OnDebug | None = None,
    ) -> None:
        self.program = program
        self.board = board
        self.observers = tuple(observers)
        self.now = 0
        self.stale_t = board.t_pending  # the last step wrote T, so the next one reads its old content (isa.md 3.5)
        self._lines = LineRun(program, board, on_debug=on_debug, move=self._issue)
        self._stop = self._lines.stop
        self.schedule: Schedule = schedule(program, spec, stop=self._stop)
        self._heap: list[tuple[int, int, int]] = []  # (cycle, _ARRIVAL or _READ, line index)
        self._moving: dict[int, SplitTransfer] = {}
        self._started = self._ended = False

    @property
    def position(self) -> int:
        """Index of the next line to issue."""
        return self._lines.position

    @property
    def moving(self) -> tuple[int, ...]:
        """Line indices of the MVs that have issued and not arrived."""
        return tuple(sorted(self._moving))

    def next(self) -> Moment | None:
        """The moment that `advance` will carry out; None at the end."""
        position, lines = self._lines.position, self.program.lines
        issue: int | None = None
        if position < len(lines):
            # A line that can never issue fails after everything that still moves has arrived.
            issue = self.schedule.issue[position] if position < self._stop else None
        if self._heap and (issue is None or self._heap[0][0] <= issue):
            cycle, what, index = self._heap[0]
            return Moment(Kind.ARRIVAL if what == _ARRIVAL else Kind.READ, cycle, index, lines[index])
        if position < len(lines):
            return Moment(Kind.LINE, self.now if issue is None else issue, position, lines[position])
        return None

    def advance(self) -> Moment | None:
        """Carry out the next moment and return it; None when the program and all its MVs have ended."""
        if not self._started:
            self._started = True
            for observer in self.observers:
                observer.begin(self)
        moment = self.next()
        if moment is None:
            self._finish()
            return None
        for observer in self.observers:
            observer.before(moment)
        self._perform(moment)
        for observer in self.observers:
            observer.after(moment)
        return moment

    def run(self) -> LockstepResult:
        """Advance to the end."""
        while self.advance() is not None:
            pass
        return LockstepResult(self.now, self.schedule.timing)

    def _finish(self) -> None:
        if not self._ended:
            self._ended = True
            for observer in self.observers:
                observer.end()

    def _perform(self, moment: Moment) -> None:
        if moment.kind is Kind.LINE:
            self._lines.step()
            if isinstance(moment.line, Step):
                self.stale_t = writes_t(moment.line)
            self.now = max(self.now, self.schedule.end[moment.index])
            return
        heappop(self._heap)
        if moment.kind is Kind.READ:
            self._moving[moment.index].read_source()
            heappush(self._heap, (self.schedule.arrives[moment.index], _ARRIVAL, moment.index))
        else:
            self._moving.pop(moment.index).write_destination()
        self.now = max(self.now, moment.cycle)

    def _issue(self, mv: Mv) -> None:
        """The engine hands over the MV of the line that issues."""
        index = self._lines.position
        self._moving[index] = SplitTransfer(mv, self.board)
        heappush(self._heap, (self.schedule.reads[index], _READ, index))


def run(
    program: Program,
    board: Board,
    spec: ChipSpec | None = None,
    *,
    observers: Iterable[Observer] = (),
    on_debug: OnDebug | None = None,
) -> LockstepResult:
    """Run `program` on `board` in lock-step; see `Lockstep`."""
    return Lockstep(program, board, spec, observers=observers, on_debug=on_debug).run()
