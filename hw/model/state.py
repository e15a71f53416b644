"""What the engines are doing when one program hands over to the next, so that the next one is timed exactly.

All cycles count from the hand-over, the cycle in which the stream of the earlier program ended.  `IDLE` is a board that
nobody uses.  Values take no part in it, and equal states are equal keys of the memo.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hw.model.errors import StateError
from hw.model.times import Phase, TransferTime, Turn
from hw.program import Mv


@dataclass(frozen=True, slots=True)
class InFlight:
    """An MV of an earlier program: its finished `lead` phases, its finished turns and the one that moves data now."""

    mv: Mv
    issue: int
    lead: tuple[Phase, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class EngineState:
    """next_slot: cycles until an MV may issue.  flying: MVs in order of issue; those that are complete are kept as long
    as a tag of theirs is unconsumed.  tags: (tag, indices into `flying`).  refresh: start of the next or current pause.
    chip: digest of the ChipSpec on which this happened, "" for an idle board of any kind.
    """

    next_slot: int = 0
    flying: tuple[InFlight, ...] = ()
    tags: tuple[tuple[int, tuple[int, ...]], ...] = ()
    refresh: int | None = None
    chip: str = ""

    def check(self, chip: str) -> None:
        """StateError unless a program on the chip with this digest can start here."""
        if self.chip not in ("", chip):
            raise StateError(f"the engine state is that of another chip ({self.chip[:8]}, expected {chip[:8]})")


IDLE = EngineState()


def in_flight(transfer: TransferTime, now: int) -> InFlight:
    """What of a finished simulation was known at cycle `now`.

    What happens exactly at `now` and depends on the other requests of that cycle, the grant of a port, is left open.
    """
    started = tuple(_shifted(turn, now) for turn in transfer.turns if turn.start < now)
    lead = tuple((cause, start - now, end - now) for cause, start, end in transfer.lead if end <= now)
    mv = replace(transfer.plan.mv, first=None, last=None)  # kernels are values
    return InFlight(mv, transfer.issue - now, lead, started)


def _shifted(turn: Turn, now: int) -> Turn:
    pieces = tuple((cause, start - now, end - now) for cause, start, end in turn.pieces)
    return Turn(turn.ready - now, turn.start - now, turn.end - now, pieces)
