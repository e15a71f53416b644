"""What a lowered program does, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.engine.dar import DarAction
from hw.engine.errors import EngineError
from hw.program import Debug, Mv, Unit


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """PE steps without anything in between: blocks first..last-1; `cost` is a rough time in microseconds.

    `number` counts the segments of a program.  `areas`: all that the steps can touch of an L1B (`hw.engine.footprint`),
    None when that is not known.
    """

    number: int
    first: int
    last: int
    cost: int
    areas: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class MvAction:
    """One MV; it completes at once in the value pass."""

    mv: Mv


@dataclass(frozen=True, slots=True)
class DebugAction:
    """A debug line.  `watch_t`: the next step would read the old T, unless this line changes T."""

    debug: Debug
    watch_t: bool


@dataclass(frozen=True, slots=True)
class LatchCheck:
    """The program reads a latch that an earlier program must have written."""

    unit: Unit
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Reaching this place is an error."""

    error: EngineError


Action = Segment | MvAction | DebugAction | LatchCheck | Fault | DarAction
