"""What goes wrong when a chip description is read or changed."""

from __future__ import annotations


class SpecError(Exception):
    """A number of the chip description is missing, misspelt, mistyped or out of range.  The message names it."""
