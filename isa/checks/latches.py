"""What the forwarding latches and the turnaround register hold between lines, as far as the rules need it.

The official checker follows value widths through the latches; reading one that was never filled is an error for the
operations whose result width depends on it, for reductions, and for `$lbf` as the source of a store.
"""

from __future__ import annotations

from hw.value import value
from isa.operand import Kind


@value
class Turn:
    """The last PE->L1BM transfer: class ("16x1", "4x4" or "d"), long words per PE and cycle, shift as written."""

    kind: str
    lws: int
    shift: int = 0


@value
class Latches:
    """Latch contents: None = not filled, else whether the value is two long words wide.  `turn` None = empty.

    `lb` counts stores too, as the official checker does; `loaded` tells whether a load has really filled `$lbf`.
    """

    alu: bool | None = None
    mau: bool | None = None
    lb: bool | None = None
    mread: bool | None = None
    loaded: bool = False
    turn: Turn | None = None

    def width(self, kind: Kind) -> bool | None:
        """The state of the latch a forwarding operand names."""
        return {Kind.ALUF: self.alu, Kind.MAUF: self.mau, Kind.LBF: self.lb, Kind.MREADF: self.mread}[kind]


EMPTY = Latches()
