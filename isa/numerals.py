"""Numbers in program text: decimal without leading zeros, or `0x`, `0b`, `0o` (all places take all bases)."""

from __future__ import annotations

NUMBER = r"(?:0x[0-9a-fA-F]+|0b[01]+|0o[0-7]+|0|[1-9][0-9]*)"
"""Regular expression of one number, without a group."""


MOST_DIGITS = 1000
"""Python converts decimal texts of up to 4300 digits; everything behind the first ones is far out of every range."""


def to_int(text: str) -> int:
    """The value of a text that matches `NUMBER`."""
    return int(text, 0) if text.startswith(("0x", "0b", "0o")) else decimal(text)


def decimal(text: str) -> int:
    """The value of decimal digits; of more digits than any field can hold only the first count."""
    return int(text[:MOST_DIGITS])
