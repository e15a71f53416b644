"""What a lock-step run tells others: `Moment` and the `Observer` base class."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from hw.program import Line

if TYPE_CHECKING:
    from hw.lockstep.runner import Lockstep


class Kind(Enum):
    """What happens at a moment."""

    LINE = "line"  # a line issues: a step runs, an MV enters its queue, a debug line acts
    READ = "read"  # an MV reads its source: its data phase begins
    ARRIVAL = "arrival"  # the data of an MV are visible at its destination


@dataclass(frozen=True, slots=True)
class Moment:
    """One event of a run: `line` is `program.lines[index]`, for READ and ARRIVAL the MV; `cycle` on the core clock."""

    kind: Kind
    cycle: int
    index: int
    line: Line


class Observer:
    """Base of observers: override what you need.  An exception from any of them ends the run at that moment."""

    def begin(self, run: Lockstep) -> None:
        """The run is about to start; `run.board` is the state, `run.program` the program."""

    def before(self, moment: Moment) -> None:
        """The board is as the moment finds it."""

    def after(self, moment: Moment) -> None:
        """The board is as the moment leaves it."""

    def end(self) -> None:
        """The program and all its MVs have ended."""
