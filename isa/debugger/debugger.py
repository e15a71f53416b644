"""`Debugger`: a program under control, line by line and with all its memory in view."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches

from hw.lockstep import Kind, Lockstep, Moment, Observer
from hw.lockstep.cells import Spot
from hw.program import Debug, Mv, Program
from hw.sanitizer.runtime import Area, Finding, Sanitizer
from hw.spec import ChipSpec
from hw.state.board import Board
from isa.assemble import assemble
from isa.debugger.areas import debug_areas
from isa.debugger.breakpoints import Breakpoint, LineBreak, WriteBreak
from isa.debugger.diff import Difference, first_difference
from isa.debugger.effects import Effects
from isa.debugger.errors import RUN_ERRORS, DebuggerError
from isa.debugger.places import parse_pe, parse_place
from isa.debugger.record import KEPT, Access, Entry, Recorder
from isa.debugger.values import Row, lines, read_rows
from isa.dump import debug_handler
from isa.dump.handler import PdmDump
from isa.dump.statement import parse_debug
from isa.errors import AsmWarning


@dataclass(frozen=True)
class Stop:
    """Why a run stopped.

    reason: "step", "line" (a line was reached), "write" (a watched place was written), "finding" (a sanitizer spoke),
    "error" (the machine refuses to go on) or "end".  line, text: the next line, 0 and "" behind the last.  what: the
    details.  output: dump lines since the last stop.
    """

    reason: str
    line: int
    text: str
    cycle: int
    what: str = ""
    output: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: Exception | None = None

    def __str__(self) -> str:
        here = f"line {self.line}: {self.text}" if self.line else "end of the program"
        what = f"{self.what}\n" if self.what else ""
        return f"{what}cycle {self.cycle}, next {here}" if self.line else f"{what}cycle {self.cycle}, {here}"


@dataclass(frozen=True, slots=True)
class Event:
    """One moment of the past: a line that ran, or an MV of that line that read its source or delivered its data."""

    kind: Kind
    line: int
    text: str
    cycle: int

    def __str__(self) -> str:
        said = {Kind.LINE: "", Kind.READ: " reads its source", Kind.ARRIVAL: " has delivered its data"}[self.kind]
        return f"cycle {self.cycle:>8}  line {self.line:>4}  {self.text}{said}"


@dataclass
class Debugger:
    """Runs a program in lock-step (values and time together) under control.

    program: a decoded program or VSM text (AsmError if it is refused).  board: the state to start from, changed in
    place; a fresh one by default.  check: "off", "warn" (stop at each finding of the sanitizers) or "strict" (a finding
    ends the run).  loaded: areas of the board that hold data, zeros included (for the sanitizers).  hazards: refuse
    text that breaks hazard distances.

    A run that hits an error stays where it is: the state can be inspected, `step` and `continue_` repeat the error.
    """

    program: Program | str
    board: Board | None = None
    spec: ChipSpec | None = None
    check: str = "off"
    loaded: tuple[Area, ...] = ()
    hazards: bool = True
    breakpoints: list[Breakpoint] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.check not in ("off", "warn", "strict"):
            close = get_close_matches(self.check, ("off", "warn", "strict"), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise DebuggerError(f"check={self.check!r}: expected 'off', 'warn' or 'strict'{hint}")
        if isinstance(self.program, str):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AsmWarning)
                self._program = assemble(self.program, check_hazards=self.hazards)
        else:
            self._program = self.program
        self._own_board = self.board is None
        self._next_number = 1
        self._begin(self.board or Board())

    def _begin(self, board: Board) -> None:
        self.board = self._board = board
        self._output: list[str] = []
        self._recorder = Recorder()
        self._sanitizer: Sanitizer | None = None
        observers: list[Observer] = [self._recorder]
        if self.check != "off":
            self._sanitizer = Sanitizer(self.check, loaded=self.loaded, debug_reader=debug_areas)
            observers.append(self._sanitizer)
        handler = debug_handler(self._output, pdm=PdmDump.REAL)
        self._run = Lockstep(self._program, board, self.spec, observers=observers, on_debug=handler)
        self._recorder.begin(self._run)  # previews work before the first step
        self._error: Exception | None = None
        self._findings_seen = self._output_seen = 0

    # --- where we are -------------------------------------------------------------------------------------------

    @property
    def cycle(self) -> int:
        """Cycle at which the last line ended."""
        return self._run.now

    @property
    def line(self) -> int:
        """Source line of the next statement, 0 behind the last."""
        return self._line_at(self._run.position)

    @property
    def text(self) -> str:
        """The next statement, "" behind the last."""
        position, statements = self._run.position, self._program.lines
        return statements[position].text if position < len(statements) else ""

    @property
    def output(self) -> list[str]:
        """All dump lines so far."""
        return list(self._output)

    @property
    def findings(self) -> list[Finding]:
        """All findings of the sanitizers so far."""
        return list(self._sanitizer.findings) if self._sanitizer else []

    @property
    def in_flight(self) -> list[int]:
        """Source lines of the MVs that have issued and not delivered."""
        return [self._line_at(index) for index in self._run.moving]

    def _line_at(self, index: int) -> int:
        return self._program.lines[index].line if index < len(self._program.lines) else 0

    def source(self) -> list[str]:
        """The program's text, line by line."""
        if self._program.source:
            return self._program.source.splitlines()
        last = max((line.line for line in self._program.lines), default=0)
        text = {line.line: line.text for line in self._program.lines}
        return [text.get(number, "") for number in range(1, last + 1)]

    # --- running ------------------------------------------------------------------------------------------------

    def step(self, n: int = 1) -> Stop:
        """Run the next `n` statements (steps, MVs, debug lines); `nop/3` is three."""
        if n < 1:
            raise DebuggerError(f"step({n}): expected at least 1")
        target = min(self._run.position + n, len(self._program.lines))
        return self._go(target, "step", stop_at_lines=n > 1)

    def run_to(self, line: int) -> Stop:
        """Run until source line `line` is next."""
        index = self._index_of(line)
        return self._go(index, "line", stop_at_lines=True)

    def continue_(self) -> Stop:
        """Run to the next breakpoint, finding or error, or to the end of the program and its MVs."""
        return self._go(None, "end", stop_at_lines=True)

    def _index_of(self, line: int) -> int:
        """Index of the next statement of a source line.  DebuggerError if there is none ahead."""
        position = self._run.position
        numbers = [one.line for one in self._program.lines]
        ahead = [i for i, number in enumerate(numbers) if number == line and i >= position]
        if ahead:
            return ahead[0]
        if line in numbers:
            raise DebuggerError(f"line {line} lies behind; the next one is {self.line or 'the end'}")
        near = sorted({n for n in numbers if n}, key=lambda n: (abs(n - line), n))[:2]
        raise DebuggerError(
            f"line {line} holds no statement; the nearest are {', '.join(map(str, sorted(near))) or 'none'}"
        )

    def _go(self, target: int | None, reason: str, *, stop_at_lines: bool) -> Stop:
        if self._error is not None:
            return self._stop("error", str(self._error))
        recorder = self._recorder
        last = len(self._program.lines) if target is None else target
        breaks = {b.line for b in self.breakpoints if isinstance(b, LineBreak)} if stop_at_lines else set()
        watches = [b for b in self.breakpoints if isinstance(b, WriteBreak)]
        ends = [i for i in range(self._run.position, last) if self._line_at(i) in breaks]
        recorder.values_from = (ends[0] if ends else last) - KEPT
        recorder.follow = bool(watches)
        start = self._run.position
        while True:
            position = self._run.position
            upcoming = self._run.next()
            settled = upcoming is None or upcoming.kind is Kind.LINE or upcoming.cycle > self._run.now
            if settled and target is not None and position >= target:
                return self._stop(reason)
            if settled and position > start and self._line_at(position) in breaks:
                return self._stop("line", f"breakpoint before line {self._line_at(position)}")
            try:
                moment = self._run.advance()
            except RUN_ERRORS as error:  # the run ends here, the debugger does not
                self._error = error
                return self._stop("error", str(error))
            if moment is None:
                return self._stop("end")
            stop = self._watched(moment, watches) or self._found()
            if stop is not None:
                return stop

    def _watched(self, moment: Moment, watches: list[WriteBreak]) -> Stop | None:
        size = self._board.topology
        for watch in watches:
            for cells in self._recorder.latest:
                if not cells.write or cells.store is not watch.where.store:
                    continue
                spot = watch.hit(cells, cells.values(self._board).shape, size)
                if spot is not None:
                    return self._stop("write", self._write_text(watch, moment, spot))
        return None

    def _write_text(self, watch: WriteBreak, moment: Moment, spot: Spot) -> str:
        line = moment.line
        arrived = " (data of the MV arrive)" if moment.kind is Kind.ARRIVAL else ""
        return f"breakpoint {watch.number}: line {line.line}: {line.text}{arrived} wrote {spot}"

    def _found(self) -> Stop | None:
        found = self.findings[self._findings_seen :]
        if not found:
            return None
        self._findings_seen += len(found)
        return self._stop("finding", "\n".join(finding.message for finding in found), tuple(found))

    def _stop(self, reason: str, what: str = "", findings: tuple[Finding, ...] = ()) -> Stop:
        output = tuple(self._output[self._output_seen :])
        self._output_seen = len(self._output)
        return Stop(reason, self.line, self.text, self.cycle, what, output, findings, self._error)

    def restart(self) -> None:
        """Back to the beginning, breakpoints kept.  DebuggerError when the board is the caller's."""
        if not self._own_board:
            raise DebuggerError("the board was given by the caller; make a new Debugger with a fresh board")
        self._begin(Board())

    # --- breakpoints --------------------------------------------------------------------------------------------

    def break_at(self, line: int) -> int:
        """Stop before a source line; returns the breakpoint's number."""
        if line not in {one.line for one in self._program.lines}:
            self._index_of(line)
        return self._add(lambda number: LineBreak(number, line))

    def break_on_write(self, location: str, count: int = 1) -> int:
        """Stop behind every write to `count` rows of a place (``$lm0n0c0b0m0p0``); returns the breakpoint's number."""
        where = parse_place(location)
        if count < 1:
            raise DebuggerError(f"{count} rows; expected at least 1")
        return self._add(lambda number: WriteBreak(number, where, count))

    def _add(self, make: Callable[[int], Breakpoint]) -> int:
        number = self._next_number
        self._next_number += 1
        self.breakpoints.append(make(number))
        return number

    def delete(self, number: int) -> None:
        """Remove a breakpoint."""
        kept = [b for b in self.breakpoints if b.number != number]
        if len(kept) == len(self.breakpoints):
            known = ", ".join(str(b.number) for b in kept) or "none"
            raise DebuggerError(f"no breakpoint {number}; there are: {known}")
        self.breakpoints = kept

    # --- looking ------------------------------------------------------------------------------------------------

    def print(self, location: str, dtype: str = "", count: int = 1) -> list[str]:
        """Rows of a place as text, in the form of `d get` (isa.md 14.2).

        dtype: none, d f h bd bf bg bh as in debug statements, or integers l i s, ul ui us.  DebuggerError or DumpError.
        """
        return list(lines(self._board, parse_place(location), dtype, _count(count)))

    def values(self, location: str, count: int = 1) -> list[int]:
        """The raw numbers of these rows, one after the other (words for word places, else long words)."""
        rows: list[Row] = list(read_rows(self._board, parse_place(location), _count(count)))
        return [value for row in rows for value in row.values]

    def set(self, statement: str) -> None:
        """Carry out a `d set` now: ``$lm0n0c0b0m0p0 1 3FF0000000000000``."""
        text = statement if statement.split()[:1] in (["d"], ["set"]) else f"d set {statement}"
        parse_debug(text)
        debug_handler([])(Debug(text), self._board)

    def what_does(self, line: int | None = None) -> Effects:
        """What a line reads and writes, with values.

        line: a source line; None: the last one that ran.  A line that has run shows its latest run (the values of the
        last 64 moments are kept); one that is still to come shows what it would touch as things stand.
        """
        past = [e for e in self._recorder.entries if line is None or e.moment.line.line == line]
        issued = [e for e in past if e.moment.kind is Kind.LINE]
        if not issued:
            if line is None:
                raise DebuggerError("nothing has run yet")
            return self._effects([], self._index_of(line))
        return self._effects(past, issued[-1].moment.index)

    def _effects(self, past: list[Entry], index: int) -> Effects:
        """Effects of the statement at `index`; `past` holds its moments so far, and others."""
        statement = self._program.lines[index]
        wanted = (Kind.READ, Kind.ARRIVAL) if isinstance(statement, Mv) else (Kind.LINE,)
        done = {entry.moment.kind: entry for entry in past if entry.moment.index == index}
        accesses: list[Access] = []
        for kind in wanted:
            entry = done.get(kind)
            if entry is None:
                cells = self._recorder.touched(Moment(kind, self.cycle, index, statement))
                accesses += [Access(one, one.values(self._board)) for one in cells]
            elif entry.accesses is None:
                raise DebuggerError(
                    f"line {statement.line} ran at cycle {entry.moment.cycle}, its values are no longer kept; "
                    f"`restart` and run to the line behind it"
                )
            else:
                accesses += entry.accesses
        first = done.get(Kind.LINE)
        moment = first.moment if first else Moment(Kind.LINE, self.cycle, index, statement)
        complete = wanted[-1] in done
        return Effects(moment, complete, tuple(accesses), self._board.topology, first is not None and not complete)

    def what(self, line: int | None = None, pe: str = "n0c0b0m0p0", dtype: str = "") -> str:
        """`what_does` as text for one PE, values in hex or in a format of `print`."""
        return self.what_does(line).text(parse_pe(pe), dtype)

    def diff(self, other: Debugger) -> Difference | None:
        """Run both forward in step and name the first line, place and bit in which they differ; None if they end alike.

        For two boards under one program, or two versions of a program; afterwards both stand behind that line.
        """
        return first_difference(self, other)

    def history(self, n: int = 20) -> list[Event]:
        """The last `n` moments, oldest first."""
        entries = self._recorder.entries[-n:] if n > 0 else []
        return [Event(e.moment.kind, e.moment.line.line, e.moment.line.text, e.moment.cycle) for e in entries]


def _count(count: int) -> int:
    if count < 0:
        raise DebuggerError(f"{count} rows; expected 0 or more")
    return count
