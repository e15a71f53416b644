"""L1BM and L2BM instructions as classes with a documented rate, recognised by their geometry, not by their spelling.

A class moves a fixed number of long words per step at a rate that ChipSpec names.  With the documented rates each needs
exactly the four cycles of its step; a lower rate stretches the step (timing.md 3.2, 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hw.model.errors import TransferError
from hw.program import L1Map, L2Kind, L2Move
from hw.spec import ChipSpec

L1BM_LINK = "L1BM-PE"
L2BM_LINK = "L2BM-L1BM"


@dataclass(frozen=True, slots=True)
class Transfer:
    """`lw` long words per step on the side that the rate `rate` (a ChipSpec name) counts; `scale` 2 for 2-LW forms.

    `link` is the name under which the bytes of all L1Bs or L2Bs of the board are counted.
    """

    rate: str
    lw: int
    scale: int
    link: str

    def cycles(self, spec: ChipSpec) -> int:
        """Cycles that one step needs at the rate of `spec`."""
        return math.ceil(self.lw / (spec.exact(self.rate) * self.scale))

    def nbytes(self, spec: ChipSpec) -> int:
        """Bytes that one step moves on the whole board, counted on the side of the rate."""
        units = spec.integer("topology.groups") * spec.integer("topology.l2b_per_group")
        if self.link == L1BM_LINK:
            units *= spec.integer("topology.l1b_per_l2b")
        return self.lw * units * 8


_L1_STEP_LW = {"l1bm.rate.l1bmp": 4, "l1bm.rate.l1bmm": 16, "l1bm.rate.l1bmm4": 64, "l1bm.rate.l1bmd": 256}
_L2_STEP_LW: dict[tuple[L2Kind, str], tuple[str, int]] = {
    (L2Kind.DOWN, "plain"): ("l2bm.rate.l2bmb", 64),
    (L2Kind.DOWN, "pairs"): ("l2bm.rate.l2bmb2", 256),
    (L2Kind.DOWN, "narrow"): ("l2bm.rate.l2bmd_down", 256),
    (L2Kind.UP, "plain"): ("l2bm.rate.l2bm_at", 64),
    (L2Kind.UP, "narrow"): ("l2bm.rate.l2bmd_up", 256),
    (L2Kind.REDUCE, "plain"): ("l2bm.rate.l2bmr", 64),
    (L2Kind.REDUCE, "pairs"): ("l2bm.rate.l2bmr2", 256),
    (L2Kind.INNER, "plain"): ("l2bm.rate.l2bmi", 64),
    (L2Kind.DARS, "plain"): ("l2bm.rate.l2bmdars", 64),
}

_L1_CLASSES = {
    (lw, scale): Transfer(rate, lw * scale, scale, L1BM_LINK) for rate, lw in _L1_STEP_LW.items() for scale in (1, 2)
}
_L2_CLASSES = {key: Transfer(rate, lw, 1, L2BM_LINK) for key, (rate, lw) in _L2_STEP_LW.items()}

TRANSFERS: tuple[Transfer | None, ...] = (None, *_L1_CLASSES.values(), *_L2_CLASSES.values())
"""Classes by id; id 0 is an item that takes part in no rated transfer."""

_L1_ID = {key: 1 + index for index, key in enumerate(_L1_CLASSES)}
_L2_ID = {key: 1 + len(_L1_CLASSES) + index for index, key in enumerate(_L2_CLASSES)}


def l1_class(layout: L1Map, line: int) -> int:
    """Class id of an L1BM item from the long words it spans; TransferError when no instruction spans that many."""
    found = _L1_ID.get((layout.span // max(layout.lws, 1), layout.lws))
    if found is None:
        raise TransferError(
            f"{layout.name!r} spans {layout.span} LW of {layout.lws} LW per PE: expected 4, 16, 64 or 256 per LW", line
        )
    return found


def l2_class(item: L2Move, line: int) -> int:
    """Class id of an L2BM item (0 for `l2bmdarw`, which uses no L2BM port); TransferError for an unknown geometry."""
    if item.kind is L2Kind.DARW:
        return 0
    shape = "plain"
    if item.map is not None and item.kind is not L2Kind.INNER:
        if item.map.width == 8:
            shape = "narrow"
        elif item.map.lc_span > item.map.lb_span:
            shape = "pairs"
    found = _L2_ID.get((item.kind, shape))
    if found is None:
        raise TransferError(f"no {item.kind.name} instruction between L2BM and L1BM has a {shape} geometry", line)
    return found
