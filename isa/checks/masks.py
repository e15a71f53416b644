"""Mask expressions of one line: one entry, one word length, one zero flush, equal widths (isa.md 5.3 rules 11, 12)."""

from __future__ import annotations

from collections.abc import Sequence

from isa.checks.latches import Latches
from isa.checks.value_width import FOLLOWS_SOURCE, check_filled, is_wide
from isa.errors import AsmError
from isa.mask_grammar import PersistentMask
from isa.operand import Kind, MaskExpr, PeOperand
from isa.record import Parsed


def one_time(items: Sequence[Parsed]) -> bool:
    """Whether a destination of the line carries its own mask, which switches the persistent mask off."""
    for item in items:
        for operand in item.dests:
            if operand.mask is not None:
                return True
    return False


def check_masks(items: Sequence[Parsed]) -> bool:
    """Whether a destination has its own mask, as `one_time`.

    Raises AsmError rules mask/flush, mask/entry, mask/length-conflict.
    """
    found: list[tuple[str, MaskExpr]] = []
    for item in items:
        if item.flush is not None:
            if found:
                raise AsmError("mask/flush", f"`{found[0][0]}` and `{item.text}` both flush", expected="one zero flush")
            found.append((item.text, item.flush))
    own = False
    for item in items:
        for operand in item.dests:
            if operand.mask is not None:
                own = True
                found.append((operand.text, operand.mask))
    for text, mask in found[1:]:
        if mask.entry != found[0][1].entry:
            raise AsmError(
                "mask/entry", f"`{found[0][0]}` and `{text}` use different masks", expected="one mask entry per line"
            )
        if mask.words != found[0][1].words:
            raise AsmError(
                "mask/length-conflict",
                f"`{found[0][0]}` and `{text}` use different mask word lengths",
                expected="`ll` in both or in none",
            )
    return own


def check_masked_widths(items: Sequence[Parsed], persistent: PersistentMask, latches: Latches) -> None:
    """Masked destinations are all 2-LW or all narrower; `$omr` does not count (hazards.md 5).

    T counts as wide as the value it receives.  Raises AsmError rule mask/width-conflict.
    """
    own = one_time(items)
    found: tuple[bool, PeOperand] | None = None
    for item in items:
        for operand in item.dests:
            if operand.kind in (Kind.OMR, Kind.NOWRITE):
                continue
            if operand.mask is None and (own or operand.kind not in persistent.targets):
                continue
            wide = operand.width == 4
            if operand.kind == Kind.T:
                if item.record.name in FOLLOWS_SOURCE:
                    check_filled(item, latches)
                wide = is_wide(item, latches)
            if found is None:
                found = wide, operand
            elif found[0] != wide:
                raise AsmError(
                    "mask/width-conflict",
                    f"masked destinations `{found[1].text}` and `{operand.text}` differ in width",
                    expected="all 2-LW or all at most 1-LW",
                )
