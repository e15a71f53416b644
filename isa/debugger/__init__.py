"""A debugger for VSM programs: `Debugger` as a Python object, ``python -m isa.debugger FILE`` in a terminal."""

from isa.debugger.areas import debug_areas
from isa.debugger.debugger import Debugger, Event, Stop
from isa.debugger.diff import Difference
from isa.debugger.effects import Effects
from isa.debugger.errors import DebuggerError
from isa.debugger.sanitized import sanitize

__all__ = ["Debugger", "DebuggerError", "Difference", "Effects", "Event", "Stop", "debug_areas", "sanitize"]
