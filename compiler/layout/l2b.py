"""How a layout uses the eight L2Bs, which decides the MV form that serves it: four groups of two banks (isa.md 6.2)."""

from __future__ import annotations

from enum import Enum

from compiler.layout.errors import LayoutError
from compiler.layout.layout import Layout
from compiler.layout.levels import Level
from compiler.layout.terms import Axis, Broadcast, SubAxis


class L2bUse(Enum):
    """SPLIT: eight different parts (`8_L2B:1`).  COPIED: all alike.  GROUPS: four parts, both banks of a group alike
    (`4_L2B:2` with `B@[2_L2B:1]`).  BANKS: two parts, all groups alike (`2_L2B:1` with `B@[4_L2B:2]`).
    """

    SPLIT = "split"
    COPIED = "copied"
    GROUPS = "groups"
    BANKS = "banks"


COPIED_BANKS = Broadcast(Level.L2B, 2, 1)
COPIED_GROUPS = Broadcast(Level.L2B, 4, 2)


def l2b_use(layout: Layout) -> L2bUse:
    """The use of L2B by a layout; a level that is split in part without copies counts as split, with holes."""
    if layout.is_broadcast(Level.L2B):
        return L2bUse.COPIED
    if COPIED_BANKS in layout.broadcast:
        return L2bUse.GROUPS
    if COPIED_GROUPS in layout.broadcast:
        return L2bUse.BANKS
    return L2bUse.SPLIT


def gather_banks(layout: Layout) -> Layout:
    """The layout in which both banks of a group hold what one of them held in `layout`.

    The digit `8_L2B:1` that leads an axis becomes `4_L2B:2` and an address digit for the bank; the addresses inside
    that digit keep their strides, the others double.  Raises LayoutError when no axis starts with `8_L2B:1`.
    """
    digit = SubAxis(8, Level.L2B, 1)
    number = next((n for n, axis in enumerate(layout.axes) if digit in axis.subaxes[:1]), None)
    if number is None:
        raise LayoutError(f"{layout} has no axis that starts with 8_L2B:1")
    inner = [sub for sub in layout.axes[number] if sub.level is Level.ADDR]
    stride = 1 + sum(sub.span for sub in inner)
    axes = []
    for n, axis in enumerate(layout.axes):
        subs: list[SubAxis] = []
        for sub in axis:
            if sub == digit:
                subs += [SubAxis(4, Level.L2B, 2), SubAxis(2, Level.ADDR, stride)]
            elif sub.level is Level.ADDR and sub.stride >= stride and n != number:
                subs.append(SubAxis(sub.extent, Level.ADDR, 2 * sub.stride))
            else:
                subs.append(sub)
        axes.append(Axis(tuple(subs)))
    return Layout(tuple(axes), (*layout.broadcast, COPIED_BANKS))


def banks_gathered(layout: Layout) -> bool:
    """Whether `spread_banks` can undo a `gather_banks` here."""
    return l2b_use(layout) is L2bUse.GROUPS and any(_leads_banks(axis) for axis in layout.axes)


def _leads_banks(axis: Axis) -> bool:
    lead = axis.subaxes[:2]
    return len(lead) == 2 and lead[0] == SubAxis(4, Level.L2B, 2) and (lead[1].extent, lead[1].level) == (2, Level.ADDR)


def spread_banks(layout: Layout) -> Layout:
    """The layout of which `layout` is the `gather_banks`: the bank's address digit becomes part of `8_L2B:1` again.

    Raises LayoutError when no axis starts with `4_L2B:2` and an address digit of extent 2.
    """
    for number, axis in enumerate(layout.axes):
        if _leads_banks(axis):
            stride = axis.subaxes[1].stride
            axes = [
                Axis(tuple(_halved(sub, stride) for sub in (other.subaxes[2:] if n == number else other.subaxes)))
                for n, other in enumerate(layout.axes)
            ]
            axes[number] = Axis((SubAxis(8, Level.L2B, 1), *axes[number]))
            return Layout(tuple(axes), tuple(entry for entry in layout.broadcast if entry != COPIED_BANKS))
    raise LayoutError(f"{layout} has no axis that starts with 4_L2B:2 and an address digit for the bank")


def _halved(sub: SubAxis, stride: int) -> SubAxis:
    if sub.level is Level.ADDR and sub.stride >= 2 * stride:
        return SubAxis(sub.extent, Level.ADDR, sub.stride // 2)
    return sub
