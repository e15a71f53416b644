"""A value on the chip as SVG: every MAB a square, in its L1B, in its L2B; those with the value and with one element."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from compiler.graph import MNValue
from compiler.layout import Level, Place, Places

_MAB, _ROW = 11, 4  # size of a square and squares in a row of an L1B
_L1B, _L1B_ROW = _ROW * _MAB + 6, 4
_L2B_WIDTH, _L2B_ROW = _L1B_ROW * _L1B + 12, 4
_TITLE = 18


def holders(value: MNValue) -> np.ndarray:
    """Which MABs hold anything of a value; bool[L2B, L1B, MAB].

    The levels of a layout are independent of each other and every level starts at its member 0, so that a MAB holds
    something exactly when its first PE holds something in the first word of the first address.
    """
    layout = value.layout
    assert layout is not None  # callers choose a value with a layout
    shape = tuple(level.members or 1 for level in (Level.L2B, Level.L1B, Level.MAB))
    l2b, l1b, mab = (field.ravel() for field in np.indices(shape))
    first = np.zeros_like(l2b)
    held: np.ndarray = layout.elements_at(Places(l2b, l1b, mab, first, first, first, first)).reshape(shape) >= 0
    return held


def draw_chip(held: np.ndarray, copies: Iterable[tuple[int, int, int]], chosen: Place) -> str:
    """The picture.  held: see `holders`; copies: MABs (L2B, L1B, MAB) with the element; chosen: the place looked at."""
    marked = set(copies)
    l2bs, l1bs, mabs = held.shape
    l2b_height = -(-l1bs // _L1B_ROW) * _L1B + _TITLE + 8
    width, height = _L2B_ROW * (_L2B_WIDTH + 8), -(-l2bs // _L2B_ROW) * (l2b_height + 8)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" id="chip" viewBox="0 0 {width} {height}" role="img" '
             f'aria-label="chip" style="max-width:{width}px" font-size="11">']  # fmt: skip
    for l2b in range(l2bs):
        x, y = l2b % _L2B_ROW * (_L2B_WIDTH + 8), l2b // _L2B_ROW * (l2b_height + 8)
        parts.append(f'<g transform="translate({x} {y})"><rect class="l2b" width="{_L2B_WIDTH}" height="{l2b_height}" '
                     f'rx="6"/><text x="8" y="13">L2B {l2b}</text>')  # fmt: skip
        for l1b in range(l1bs):
            left, top = l1b % _L1B_ROW * _L1B + 8, l1b // _L1B_ROW * _L1B + _TITLE
            for mab in range(mabs):
                state = "held" if held[l2b, l1b, mab] else "free"
                state = "copy" if (l2b, l1b, mab) in marked else state
                picked = " picked" if (l2b, l1b, mab) == chosen[:3] else ""
                parts.append(
                    f'<rect class="mab {state}{picked}" x="{left + mab % _ROW * _MAB}" y="{top + mab // _ROW * _MAB}" '
                    f'width="{_MAB - 2}" height="{_MAB - 2}" data-place="{l2b},{l1b},{mab}"/>'
                )
        parts.append("</g>")
    return "".join([*parts, "</svg>"])
