"""`pack`: the list scheduler's front door."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hw.program import Line, Mv, MvForm
from isa.pack.emit import to_lines
from isa.pack.graph import Graph
from isa.pack.nodes import build_nodes
from isa.pack.schedule import Scheduler

WINDOW = 400
START_STEPS = 50  # before the first long word arrives: 200 cycles, timing.md 5.2
LW_PER_STEP = 64  # 16 long words a cycle, timing.md 3.1
_SLOW = {MvForm.D_PDM_L: 4, MvForm.D_L_PDM: 4, MvForm.B_PDM: 32, MvForm.R_PDM: 32, MvForm.P_P: 32, MvForm.P_D: 32}


def expected_steps(mv: Mv) -> int:
    """Rough duration of a transfer in steps; it decides only where a wait is placed, never what a program means."""
    return START_STEPS + mv.size // _SLOW.get(mv.form, LW_PER_STEP)


def pack(lines: Sequence[Line], *, window: int = WINDOW, mv_steps: Callable[[Mv], int] = expected_steps) -> list[Line]:
    """Pack straight-line code into VLIW lines that obey the hazard table and give the same results.

    lines: steps (usually one item each; several items stay together), MVs, debug lines.  Plain nops are dropped and put
    back only where a hazard needs them; a wait goes to the step that needs it or to a nop line.  MVs keep their order
    and start as early as their data allow.  Items must carry their text, with write masks written out.
    window: how many nodes ahead of the first unplaced one may be moved forward.  Time is linear in the input.

    Not seen from here: what came before (the result may follow any code after `nop/3`), and base address registers set
    before (taken as a multiple of four words when `lines` do not write them).

    Raises PackError for latch readers without producer and for code whose order cannot be kept.
    """
    return [line for line, _ in pack_traced(lines, window=window, mv_steps=mv_steps)]


def pack_traced(
    lines: Sequence[Line], *, window: int = WINDOW, mv_steps: Callable[[Mv], int] = expected_steps
) -> list[tuple[Line, int | None]]:
    """As `pack`, with the `line` number of the oldest input line that each output line carries (None for a nop)."""
    nodes = build_nodes(lines)
    packed = to_lines(Scheduler(nodes, Graph(nodes), window, mv_steps).run())
    return [(line, None if oldest is None else nodes[oldest].line) for line, oldest in packed]
