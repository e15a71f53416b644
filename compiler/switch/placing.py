"""How much of LM0 a selection uses while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.switch.feeds import UNIT, ZERO_LWS
from compiler.switch.selection import Selection

#: Slots of a chunk at most; more would only leave less room for other values.
MOST = 512
LEAST = 2 * UNIT


def chunk_slots(selection: Selection, letters: Sequence[str], room: int) -> int:
    """Slots of a chunk when values and tables leave `room` long words of LM0.

    letters: the LM of each source.  0 when everything is read where it lies.
    """
    if not selection.needs_chunks(letters):
        return 0
    unit = max(UNIT, *(feed.load.granule for feed in selection.feeds))
    whole = max(unit, -(-selection.slots // unit) * unit)
    return min(whole, MOST, max(unit, LEAST, (room - ZERO_LWS) // unit * unit))


def scratch_words(chunk: int) -> int:
    """Words of LM0 for a chunk and the zero word behind it; none without chunks."""
    return 2 * (chunk + ZERO_LWS) if chunk else 0
