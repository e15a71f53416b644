"""`lower(program)`: a decoded program, once, as flat tables and a list of actions.

Lines between MVs and debug lines become one *segment*.  Everything that does not depend on data is settled here: which
latches may be read (isa.md 3.11), which waits block (2.5), when T shows its old content (3.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hw.engine import layout as L
from hw.engine.actions import Action, DebugAction, Fault, LatchCheck, MvAction, Segment
from hw.engine.dar import DarAction, dar_items
from hw.engine.errors import Deadlock, EngineError, InvalidLatch, LoweringError, TagReuse
from hw.engine.footprint import footprint
from hw.engine.liveness import live_latches
from hw.engine.moves import check_mv
from hw.engine.step import StepLowering, StepState
from hw.engine.tables import Pool
from hw.kernels.abi import Kernel
from hw.program import Debug, L2Kind, L2Move, Line, Mem, Mv, PeStore, Program, Step, Unit
from hw.state.board import LatchState
from hw.state.topology import Topology

_WORTH_COMPARING = 300  # microseconds of work from which looking for L1Bs in the same state can pay
_CHECKED = {Mem.ALUF: Unit.ALU, Mem.MAUF: Unit.MAU}
_NAMES = {Mem.ALUF: "$aluf", Mem.MAUF: "$mauf"}


@dataclass(frozen=True)
class Lowered:
    """The lowered form.  `latches`: state of the ALU and MAU latch at the end, None when the program leaves it alone.

    `stale_start`: the first step reads T, so it depends on what ran before; `ends_with_t`: the last step wrote T (None:
    no step at all).  `line_starts`: with separate lines, the first action of every line, and their number at the end.
    `assumes_zero_bars`: right only while base address registers that the program has not written are 0.
    """

    actions: tuple[Action, ...]
    ops: NDArray[np.int64]
    blocks: NDArray[np.int64]
    tables: NDArray[np.int64]
    parameters: NDArray[np.int64]
    kernels: tuple[Kernel, ...]
    lines: tuple[Line, ...]
    topology: Topology
    latches: dict[Unit, LatchState | None]
    stale_start: bool
    ends_with_t: bool | None
    line_starts: tuple[int, ...]
    segments: tuple[Segment, ...]
    assumes_zero_bars: bool


def reads_t(step: Step) -> bool:
    """Does the step use T as data or as an index?"""
    if any(source.mem is Mem.T or source.via_t for source in step.sources()):
        return True
    return any(dest.via_t for item in step.items if not isinstance(item, PeStore | L2Move) for dest in item.dests)


@dataclass
class _Lowering:
    program: Program
    topology: Topology
    separate: bool
    bars_zero: bool  # base address registers are 0 so far
    fast: bool
    assumes_zero_bars: bool
    line_starts: list[int] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    pool: Pool = field(default_factory=Pool)
    actions: list[Action] = field(default_factory=list)
    ops: list[list[int]] = field(default_factory=list)
    blocks: list[tuple[int, int, int]] = field(default_factory=list)
    local_start: int = 0  # first op of the open LOCAL block
    first_block: int = 0  # first block of the open segment
    drains: list[tuple[L2Move, ...]] = field(default_factory=list)  # `l2bmdarw` of the open segment
    tags: dict[int, int] = field(default_factory=dict)  # tag: raised, not waited for
    latches: dict[Unit, LatchState | None] = field(default_factory=lambda: {Unit.ALU: None, Unit.MAU: None})
    wrote_t: bool | None = None  # by the last step; None before the first
    live: list[frozenset[int]] = field(default_factory=list)  # latches, after each line
    latch_at: dict[int, int] = field(default_factory=dict)  # where latches lie inside the open LOCAL block

    def run(self) -> Lowered:
        lines = self.program.lines
        self.live = live_latches(lines, separate=self.separate)
        steps = [i for i, line in enumerate(lines) if isinstance(line, Step)]
        following = dict(zip([-1, *steps], [*steps, -1], strict=True))  # step index -> index of the next step
        current = -1
        blocked = False
        for index, line in enumerate(lines):
            if self.separate:
                self._close()
                self.line_starts.append(len(self.actions))
            if isinstance(line, Debug):
                self._debug(line, lines, following[current])
            elif blocked:
                continue
            elif isinstance(line, Step):
                current = index
                later = following[index]
                needed = later < 0 or reads_t(lines[later])  # type: ignore[arg-type]  # `following` lists steps
                fault = self._step(line, index, needed)
                if fault is not None:
                    self._fault(fault)
                    if not isinstance(fault, Deadlock):
                        break
                    blocked = True
            elif isinstance(line, Mv):
                reuse = self._mv(line)
                if reuse is not None:
                    self._fault(reuse)
                    break
        self._close()
        return self._result(steps)

    def _result(self, steps: Sequence[int]) -> Lowered:
        first = self.program.lines[steps[0]] if steps else None
        return Lowered(
            actions=tuple(self.actions),
            ops=np.array(self.ops or [[0] * L.RECORD], np.int64),
            blocks=np.array(self.blocks or [(0, 0, 0)], np.int64),
            tables=self.pool.table_array(),
            parameters=self.pool.parameter_array(),
            kernels=tuple(self.pool.kernels),
            lines=self.program.lines,
            topology=self.topology,
            latches=self.latches,
            stale_start=isinstance(first, Step) and reads_t(first),
            ends_with_t=self.wrote_t,
            line_starts=self._starts(),
            segments=tuple(self.segments),
            assumes_zero_bars=self.assumes_zero_bars,
        )

    def _starts(self) -> tuple[int, ...]:
        """Lines behind a fault, which ends the lowering, have no actions."""
        if not self.separate:
            return ()
        missing = len(self.program.lines) + 1 - len(self.line_starts)
        return (*self.line_starts, *[len(self.actions)] * missing)

    # --- segments ---------------------------------------------------------------------------------------------

    def _end_local(self) -> None:
        for latch, buffer in self.latch_at.items():
            if buffer != latch:
                self.ops.append([L.COPY, buffer, latch] + [0] * (L.RECORD - 3))
        self.latch_at = {}
        if len(self.ops) > self.local_start:
            self.blocks.append((L.LOCAL, self.local_start, len(self.ops)))
        self.local_start = len(self.ops)

    def _across(self, ops: list[list[int]]) -> None:
        if ops:
            self._end_local()
            for op in ops:
                self.blocks.append((L.ACROSS, len(self.ops), len(self.ops) + 1))
                self.ops.append(op)
            self.local_start = len(self.ops)

    def _close(self) -> None:
        """End the open segment; its `l2bmdarw` act now, before anything can see the DAR."""
        self._end_local()
        if len(self.blocks) > self.first_block:
            first_op = self.blocks[self.first_block][1]
            cost = sum(_cost(op) for op in self.ops[first_op:])
            areas = None
            if self.bars_zero and cost >= _WORTH_COMPARING and len(self.blocks) == self.first_block + 1:
                areas = footprint(self.ops[first_op:], self.pool.values)
            self.segments.append(Segment(len(self.segments), self.first_block, len(self.blocks), cost, areas))
            self.actions.append(self.segments[-1])
        self.first_block = len(self.blocks)
        if self.drains:
            self.actions.append(DarAction(tuple(self.drains)))
            self.drains = []

    def _fault(self, error: EngineError) -> None:
        self._close()
        self.actions.append(Fault(error))

    # --- lines ------------------------------------------------------------------------------------------------

    def _debug(self, line: Debug, lines: Sequence[Line], next_step: int) -> None:
        self._close()
        stale = self.wrote_t is not False
        watch = stale and (next_step < 0 or reads_t(lines[next_step]))  # type: ignore[arg-type]
        self.actions.append(DebugAction(line, watch))

    def _mv(self, mv: Mv) -> TagReuse | None:
        check_mv(mv, self.topology)
        if mv.tag:
            raised = self.tags.get(mv.tag, 0)
            if raised > 1:
                return TagReuse(f"tag i{mv.tag:02x} is raised a third time without a wait", mv.line, mv.text)
            self.tags[mv.tag] = raised + 1
        self._close()
        self.actions.append(MvAction(mv))
        return None

    def _wait(self, step: Step) -> EngineError | None:
        if step.wait is None:
            return None
        raised = self.tags.get(step.wait, 0)
        if raised == 0:
            known = ", ".join(f"i{tag:02x}" for tag, count in sorted(self.tags.items()) if count) or "none"
            message = f"wait for tag i{step.wait:02x}, which no earlier MV has raised; open tags: {known}"
            return Deadlock(message, step.line, step.text)
        if raised > 1:
            message = f"wait for tag i{step.wait:02x}, which was raised twice; expected a wait between the two MVs"
            return TagReuse(message, step.line, step.text)
        self.tags[step.wait] = 0
        return None

    def _latch(self, step: Step) -> InvalidLatch | None:
        for source in step.sources():
            unit = _CHECKED.get(source.mem)
            if unit is None:
                continue
            state = self.latches[unit]
            if state is None:
                self._close()
                self.actions.append(LatchCheck(unit, step.line, step.text))
            elif state is not LatchState.VALID:
                return invalid_latch(unit, state, step.line, step.text)
        return None

    def _step(self, step: Step, index: int, t_needed: bool) -> EngineError | None:
        fault = self._wait(step)
        if fault is not None:
            return fault
        if step.nop:
            if step.items:
                raise LoweringError("a nop with other items; expected only a wait beside it", step.line, step.text)
            self.wrote_t = False
            return None
        fault = self._latch(step)
        if fault is not None:
            return fault
        self._dar(step)
        if any(isinstance(item, L2Move) and item.kind is not L2Kind.DOWN for item in step.items):
            self._end_local()  # the step starts with ops across L1Bs
        state = StepState(
            stale_t=self.wrote_t is not False,
            keep_t=t_needed,
            bars_zero=self.bars_zero,
            live=self.live[index],
            latch_at=self.latch_at,
            fast=self.fast,
        )
        lowering = StepLowering(step, index, self.pool, self.topology, state)
        result = lowering.lower()
        self.bars_zero &= not lowering.writes_bar
        self._across(result.before)
        self.ops += result.local
        self.latch_at = lowering.latch_at
        self._across(result.after)
        self.wrote_t = lowering.writes_t
        if not step.hold:
            units = {item.unit for item in step.items}
            for unit in self.latches:
                self.latches[unit] = LatchState.VALID if unit in units else LatchState.IDLE
        return None

    def _dar(self, step: Step) -> None:
        items = dar_items(step.items)
        if any(item.kind is L2Kind.DARS for item in items):
            self._close()  # it reads the L2BM as it is before this step
            self.actions.append(DarAction((items,)))
        elif items:
            self.drains.append(items)


def _cost(op: Sequence[int]) -> int:
    """Rough time of an op in microseconds."""
    if op[0] == L.KERNEL and op[7] in (L.MATRIX_X, L.MATRIX_Y):
        return L.MATRIX_COST
    return L.COST.get(op[0], L.OTHER_COST)


def invalid_latch(unit: Unit, state: LatchState, line: int, text: str) -> InvalidLatch:
    """The error of reading a latch in this state."""
    name = next(_NAMES[mem] for mem, owner in _CHECKED.items() if owner is unit)
    why = "its unit has not run yet" if state is LatchState.UNWRITTEN else "its unit was idle in the step before"
    return InvalidLatch(f"{name} is read but {why}; expected a {unit.name} item one step earlier", line, text)


def lower(
    program: Program,
    topology: Topology | None = None,
    *,
    separate: bool = False,
    bars_zero: bool = False,
    fast: bool = True,
) -> Lowered:
    """Lower a program for boards of the given size (MN-Core 2 without one).

    separate: no action spans two lines, and `line_starts` says which actions belong to which line.
    bars_zero: make code that is right only while all base address registers are 0 where the program does not write
    them.  fast: use the stand-ins of `hw.kernels.fast`.
    LoweringError for lines no step or MV can be.  What goes wrong only when it is reached (deadlock, tag reuse, invalid
    latch) becomes an action that raises at its place.
    """
    return _Lowering(program, topology or Topology(), separate, bars_zero, fast, bars_zero).run()
