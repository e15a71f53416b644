"""Run-time errors of debug statements."""

from __future__ import annotations

from isa.errors import IsaError


class DumpError(IsaError):
    """A debug statement that is well formed but cannot be carried out; `line` is its source line (0 if unknown)."""

    def __init__(self, message: str, line: int = 0, text: str = "") -> None:
        self.message = message
        self.line = line
        self.text = text
        where = f"line {line}: " if line else ""
        super().__init__(f"{where}{message}" + (f"\n    {text}" if text else ""))
