"""What the host moves around a program: DMA through the PDM of group 0 with tags (timing.md 7).

A transfer starts when all earlier ones of its direction have ended and, with `after`, an MV has raised that tag.  Its
end raises `tag` for a `wait` of the program.  A send without tags holds the program back until it has ended; a receive
without `after` starts when the program and its MVs have ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hw.model.errors import HostError

UNIT = 8


class Direction(StrEnum):
    """Which way the data go."""

    SEND = "send"
    RECEIVE = "receive"


@dataclass(frozen=True, slots=True)
class HostTransfer:
    """One host transfer of `nbytes`, a multiple of 8; `label` names it in traces.  Raises HostError."""

    direction: Direction
    nbytes: int
    tag: int = 0
    after: int = 0
    label: str = ""

    def __post_init__(self) -> None:
        if self.nbytes < 0 or self.nbytes % UNIT:
            raise HostError(f"host {self.direction} of {self.nbytes} bytes: expected a multiple of {UNIT}")
        if self.direction is Direction.RECEIVE and self.tag and not self.after:
            raise HostError(f"host receive with tag i{self.tag:02x} and without `after`: the program would have ended")

    @property
    def name(self) -> str:
        """Its label, or what it does."""
        return self.label or str(self.direction)

    @property
    def holds_start(self) -> bool:
        """Whether the program waits for it before its first line."""
        return self.direction is Direction.SEND and not self.tag and not self.after


def send(nbytes: int, tag: int = 0, *, after: int = 0, label: str = "") -> HostTransfer:
    """Host memory to the PDM of group 0."""
    return HostTransfer(Direction.SEND, nbytes, tag, after, label)


def receive(nbytes: int, tag: int = 0, *, after: int = 0, label: str = "") -> HostTransfer:
    """The PDM of group 0 to host memory."""
    return HostTransfer(Direction.RECEIVE, nbytes, tag, after, label)
