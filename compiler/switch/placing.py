"""How much of LM0 a selection uses while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.switch.feeds import UNIT, ZERO_LWS
from compiler.switch.selection import Selection

LEAST = 2 * UNIT


def chunk_slots(
    selection: Selection, letters: Sequence[str], lm_lws: int, resident: int, *, share: int = 4
) -> int:
    """Slots of a chunk in `lm_lws` long words of LM0, of which values and tables take `resident`; at most one part of
    `share`, to leave room for other values.

    letters: the LM of each source.  0 when everything is read where it lies.
    """
    if not selection.needs_chunks(letters):
        return 0
    unit = max(UNIT, *(feed.load.granule for feed in selection.feeds))
    whole = max(unit, -(-selection.slots // unit) * unit)
    most = min(lm_lws // share, lm_lws - resident - ZERO_LWS)
    return min(whole, max(unit, LEAST, most // unit * unit))


def scratch_words(chunk: int) -> int:
    """Words of LM0 for a chunk and the zero word behind it; none without chunks."""
    return 2 * (chunk + ZERO_LWS) if chunk else 0
