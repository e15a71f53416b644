"""The nearest known spelling of a word, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` for the closest known spelling, or an empty string."""
    match = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean '{match[0]}'?)" if match else ""
