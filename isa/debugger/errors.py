"""What the debugger refuses."""

from __future__ import annotations

from isa.errors import IsaError


class DebuggerError(IsaError):
    """A request that cannot be carried out: an unknown line, breakpoint or format, a run that is over."""
