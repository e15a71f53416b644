"""Sanitizers at run time: uninitialised reads, races with MVs, addresses that leave their memory, stale latches.

`sanitize` runs a program in lock-step and returns what it found (or raises at the first finding); `Sanitizer` is the
observer behind it, for runs of your own.
"""

from hw.sanitizer.runtime.area import Area, DebugAreas
from hw.sanitizer.runtime.errors import (
    AddressViolation,
    ModeError,
    SanitizerError,
    StaleForward,
    TransferRace,
    UninitialisedRead,
)
from hw.sanitizer.runtime.finding import Finding
from hw.sanitizer.runtime.sanitize import Sanitizer, sanitize

__all__ = [
    "AddressViolation",
    "Area",
    "DebugAreas",
    "Finding",
    "ModeError",
    "Sanitizer",
    "SanitizerError",
    "StaleForward",
    "TransferRace",
    "UninitialisedRead",
    "sanitize",
]
