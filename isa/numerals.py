"""Numbers in program text: decimal without leading zeros, or `0x`, `0b`, `0o` (all places take all bases)."""

from __future__ import annotations

NUMBER = r"(?:0x[0-9a-fA-F]+|0b[01]+|0o[0-7]+|0|[1-9][0-9]*)"
"""Regular expression of one number, without a group."""


def to_int(text: str) -> int:
    """The value of a text that matches `NUMBER`."""
    return int(text, 0)
