"""The value engine: runs a decoded `hw.program.Program` on a `hw.state.Board`, bit by bit."""

from __future__ import annotations

from hw.engine.errors import Deadlock, EngineError, InvalidLatch, LoweringError, MixedExponents, TagReuse
from hw.engine.execute import LoweredProgram, OnDebug, execute, lower

__all__ = [
    "Deadlock",
    "EngineError",
    "InvalidLatch",
    "LoweredProgram",
    "LoweringError",
    "MixedExponents",
    "OnDebug",
    "TagReuse",
    "execute",
    "lower",
]
