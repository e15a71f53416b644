"""Which forwarding latches somebody may still look at after each step.

Results whose latch is overwritten before anything reads it need not be written there.  Debug lines and the end of the
program see all latches; MVs see none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hw.engine import layout as L
from hw.program import Compute, Debug, Line, Mem, PeLoad, Step, Unit

LATCHES: Final = {Mem.ALUF: L.LATCH_ALU, Mem.MAUF: L.LATCH_MAU, Mem.LBF: L.LATCH_LBF, Mem.MREADF: L.LATCH_MREAD}
_WRITTEN: Final = {Unit.ALU: L.LATCH_ALU, Unit.MAU: L.LATCH_MAU, Unit.MREAD: L.LATCH_MREAD}
_ALL: Final = frozenset(LATCHES.values())


def read_latches(step: Step) -> frozenset[int]:
    """Latches a step reads."""
    return frozenset(LATCHES[source.mem] for source in step.sources() if source.mem in LATCHES)


def written_latches(step: Step) -> frozenset[int]:
    """Latches a step overwrites."""
    if step.hold:
        return frozenset()
    found = {_WRITTEN[item.unit] for item in step.items if isinstance(item, Compute) and item.unit in _WRITTEN}
    if any(isinstance(item, PeLoad) for item in step.items):
        found.add(L.LATCH_LBF)
    return frozenset(found)


def live_latches(lines: Sequence[Line], *, separate: bool) -> list[frozenset[int]]:
    """For every line, the latches whose content right after it may still be seen; all when lines run one by one.

    A wait may end the program, so it sees all latches too.
    """
    live, after = _ALL, [_ALL] * len(lines)
    if separate:
        return after
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        after[index] = live
        if isinstance(line, Debug):
            live = _ALL
        elif isinstance(line, Step):
            live = live - written_latches(line) | read_latches(line)
            if line.wait is not None:
                live = _ALL
    return after
