"""`$lbf` and `$mreadf` hold the output of the step before, or otherwise whatever is left over (isa.md 3.11).

`$aluf` and `$mauf` need no check here: the engine stops at them.
"""

from __future__ import annotations

from collections.abc import Callable

from hw.program import Compute, Mem, PeLoad, Step, Unit
from hw.sanitizer.runtime.finding import Finding

_NAMES = {Mem.LBF: "$lbf", Mem.MREADF: "$mreadf"}
_PRODUCERS = {Mem.LBF: "an L1BM->PE item", Mem.MREADF: "an `mread`"}


class Forwarding:
    """Follows one run."""

    def __init__(self, report: Callable[[Finding], None]) -> None:
        self._report = report
        self._filled: dict[Mem, bool | None] = {Mem.LBF: None, Mem.MREADF: None}  # None: never in this program

    def step(self, step: Step) -> None:
        """A PE line, before it runs."""
        if step.nop:
            return
        for mem in dict.fromkeys(source.mem for source in step.sources()):
            filled = self._filled.get(mem, True)
            if not filled:
                why = "no step before it fills it" if filled is None else "the step before did not fill it"
                what = f"reads {_NAMES[mem]}, but {why}: its content is left over"
                hint = f"put {_PRODUCERS[mem]} into the step before (only nops may stand between)"
                self._report(Finding("forwarding/stale", step.line, step.text, what, hint))
        if not step.hold:
            self._filled[Mem.LBF] = self._state(Mem.LBF, any(isinstance(item, PeLoad) for item in step.items))
            reads = any(isinstance(item, Compute) and item.unit is Unit.MREAD for item in step.items)
            self._filled[Mem.MREADF] = self._state(Mem.MREADF, reads)

    def _state(self, mem: Mem, fills: bool) -> bool | None:
        return True if fills else None if self._filled[mem] is None else False
