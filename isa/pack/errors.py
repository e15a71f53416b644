"""The packer's error."""

from __future__ import annotations


class PackError(ValueError):
    """Code that cannot be packed; `line` is the source line of the offending step (0 if unknown)."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
