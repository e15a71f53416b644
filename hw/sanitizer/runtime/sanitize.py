"""`sanitize`: a program run in lock-step under all sanitizers; `Sanitizer` is the observer that does it."""

from __future__ import annotations

from collections.abc import Iterable

from hw.engine import EngineError, OnDebug
from hw.lockstep.observer import Kind, Moment, Observer
from hw.lockstep.runner import Lockstep
from hw.lockstep.runner import run as run_in_lockstep
from hw.lockstep.stores import Store
from hw.program import Debug, Mv, Program, Step
from hw.sanitizer.effects import latch_users
from hw.sanitizer.runtime.addresses import Addresses
from hw.sanitizer.runtime.area import Area, DebugReader, loads
from hw.sanitizer.runtime.errors import MODES, ModeError, error_of
from hw.sanitizer.runtime.finding import Finding
from hw.sanitizer.runtime.forwarding import Forwarding
from hw.sanitizer.runtime.in_flight import InFlight
from hw.sanitizer.runtime.moves import StateTransfer
from hw.sanitizer.runtime.recall import Recall
from hw.sanitizer.runtime.registers import Registers
from hw.sanitizer.runtime.scope import find_scope
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.uninitialised import Uninitialised
from hw.spec import ChipSpec
from hw.state.board import Board


class Sanitizer(Observer):
    """Watches a lock-step run; `findings` in the order of the program.

    mode: "strict" raises a SanitizerError at the first finding, before its line acts; "warn" collects.  loaded: areas
    that the caller filled before the run (see `sanitize`).  debug_reader: what debug lines touch.  whole_chip: count
    reads of all PEs, not only of those that were given something (see `scope`).  recall=False computes every step anew:
    slower, the same findings.
    """

    def __init__(
        self,
        mode: str = "strict",
        *,
        loaded: Iterable[Area] = (),
        debug_reader: DebugReader | None = None,
        whole_chip: bool = False,
        recall: bool = True,
    ) -> None:
        if mode not in MODES:
            raise ModeError(mode)
        self.findings: list[Finding] = []
        self._strict = mode == "strict"
        self._loaded = tuple(loaded)
        self._debug_reader = debug_reader
        self._whole_chip = whole_chip
        self._use_recall = recall

    def begin(self, run: Lockstep) -> None:
        """Read the state the program starts from."""
        board = run.board
        self._run, self._board = run, board
        self._shadow = Shadow(board)
        self._shadow.mark(self._loaded)
        areas = [*self._loaded, *loads(run.program.lines, self._debug_reader)]
        scope = find_scope(board, self._shadow, areas, whole_chip=self._whole_chip)
        self._registers = Registers(board)
        self._recall = Recall(board, self._shadow, self._registers) if self._use_recall else None
        self._uninitialised = Uninitialised(board, self._shadow, scope, self._report, self._recall)
        self._in_flight = InFlight(board, self._report)
        self._addresses = Addresses(board, scope, self._report, self._registers)
        self._forwarding = Forwarding(self._report)
        self._latch_users = latch_users(run.program)

    def _report(self, finding: Finding) -> None:
        if self._strict:
            raise error_of(finding)
        self.findings.append(finding)

    def before(self, moment: Moment) -> None:
        """Judge a line on the state that it finds; MVs are judged where they issue."""
        line = moment.line
        if moment.kind is not Kind.LINE:
            return
        if isinstance(line, Step):
            self._in_flight.step(line)
            self._forwarding.step(line)
            if not line.nop:
                stale = self._run.stale_t
                self._addresses.step(line, stale_t=stale)
                self._uninitialised.step(line, stale_t=stale, latch_used=self._latch_users[moment.index])
                self._registers.changed_by(line)
        elif isinstance(line, Mv):
            self._in_flight.mv(line)
            self._addresses.mv(line)
            StateTransfer(line, self._board, self._shadow, self._report).run()
            self._changed(Store.L2BM)
        elif isinstance(line, Debug):
            self._registers.forget()
            self._debug(line)

    def _debug(self, line: Debug) -> None:
        touched = self._debug_reader(line) if self._debug_reader is not None else None
        if touched is None:
            return
        self._in_flight.debug(touched, line.line, line.text)
        if touched.write:
            self._shadow.mark(touched.areas)
            self._changed()

    def _changed(self, *stores: Store) -> None:
        """States were changed by something that is no step."""
        if self._recall is not None:
            self._recall.forget(*stores)


def sanitize(
    program: Program,
    board: Board | None = None,
    *,
    mode: str = "strict",
    spec: ChipSpec | None = None,
    on_debug: OnDebug | None = None,
    debug_reader: DebugReader | None = None,
    loaded: Iterable[Area] = (),
    whole_chip: bool = False,
) -> list[Finding]:
    """Run `program` on `board` (default: a fresh one) in lock-step and return what it does wrong.

    mode: "strict" raises at the first finding (a SanitizerError; `engine` errors pass through), "warn" returns all, an
    engine error that ends the run being the last one (rule ``stop/...``).

    Loaded data: on-chip long words that are not zero count as initialised, and blocks of 16 LW in PDM and DRAM that are
    not all zero.  Data with zeros is declared with `loaded`.
    """
    sanitizer = Sanitizer(mode, loaded=loaded, debug_reader=debug_reader, whole_chip=whole_chip)
    try:
        run_in_lockstep(program, board or Board(), spec, observers=(sanitizer,), on_debug=on_debug)
    except EngineError as error:
        if mode == "strict":
            raise
        hint = "nothing behind this line was run"
        what = str(error).removeprefix(f"line {error.line}: ").removesuffix(f" [{error.text}]")
        what = what.replace("{", "{{").replace("}", "}}")
        sanitizer.findings.append(Finding(f"stop/{type(error).__name__}", error.line, error.text, what, hint))
    return sanitizer.findings
