"""Numbers in program text: decimal without leading zeros, or `0x`, `0b`, `0o` (all places take all bases)."""

from __future__ import annotations

NUMBER = r"(?:[1-9][0-9]*|0(?:x[0-9a-fA-F]+|b[01]+|o[0-7]+)?)"
"""Regular expression of one number, without a group."""


MOST_DIGITS = 1000
"""Python converts decimal texts of up to 4300 digits; everything behind the first ones is far out of every range."""


def to_int(text: str) -> int:
    """The value of a text that matches `NUMBER`; of more decimal digits than any field holds the first ones count."""
    return int(text[:MOST_DIGITS]) if text[0] != "0" else int(text, 0)


def decimal(text: str) -> int:
    """The value of decimal digits, leading zeros allowed; of more than any field holds the first ones count."""
    return int(text[:MOST_DIGITS])
