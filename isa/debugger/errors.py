"""What the debugger refuses."""

from __future__ import annotations

from hw.engine import EngineError
from hw.sanitizer.runtime import SanitizerError
from isa.errors import IsaError

#: What ends a run: the machine refuses to go on, a strict sanitizer, a dump that cannot be made.
RUN_ERRORS = (EngineError, SanitizerError, IsaError)


class DebuggerError(IsaError):
    """A request that cannot be carried out: an unknown line, breakpoint or format, a run that is over."""
