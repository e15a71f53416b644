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


_ALL_BANKS = SubAxis(8, Level.L2B, 1)


def _bank_axis(layout: Layout) -> int | None:
    """The number of the axis that starts with `8_L2B:1`."""
    return next((n for n, axis in enumerate(layout.axes) if axis.subaxes[:1] == (_ALL_BANKS,)), None)


def can_gather(layout: Layout) -> bool:
    """Whether `gather_banks` takes this layout."""
    return _bank_axis(layout) is not None


def bank_stride(layout: Layout) -> int:
    """Distance in long words of the two banks' parts in `gather_banks` of a layout.

    The least for which all addresses of the axis that starts with `8_L2B:1` lie below it and every other address digit
    either does so too or has a multiple of it as its stride.  Raises LayoutError without such an axis.
    """
    number = _bank_axis(layout)
    if number is None:
        raise LayoutError(f"{layout} has no axis that starts with 8_L2B:1")
    digits = [sub for _, _, sub in layout.digits(Level.ADDR) if sub.extent > 1]
    least = 1 + sum(sub.span for sub in layout.axes[number] if sub.level is Level.ADDR)
    for stride in range(least, layout.num_lw):
        inner = [sub for sub in digits if sub.stride < stride]
        if sum(sub.span for sub in inner) < stride and all(d.stride % stride == 0 for d in digits if d not in inner):
            return stride
    return max(least, 1 + sum(sub.span for sub in digits))


def gather_banks(layout: Layout) -> Layout:
    """The layout in which both banks of a group hold what one of them held in `layout`.

    The digit `8_L2B:1` that leads an axis becomes `4_L2B:2` and an address digit for the bank (see `bank_stride`); the
    addresses below it keep their strides, the others double.  Raises LayoutError when no axis starts with `8_L2B:1`.
    """
    stride, number = bank_stride(layout), _bank_axis(layout)
    axes = []
    for n, axis in enumerate(layout.axes):
        subs = [SubAxis(4, Level.L2B, 2), SubAxis(2, Level.ADDR, stride)] if n == number else []
        for sub in axis.subaxes[1:] if n == number else axis.subaxes:
            doubled = sub.level is Level.ADDR and sub.stride >= stride
            subs.append(SubAxis(sub.extent, Level.ADDR, 2 * sub.stride) if doubled else sub)
        axes.append(Axis(tuple(subs)))
    return Layout(tuple(axes), (*layout.broadcast, COPIED_BANKS))


def banks_gathered(layout: Layout) -> bool:
    """Whether this is the `gather_banks` of a layout, so that `spread_banks` undoes it."""
    lead = next((axis.subaxes[1] for axis in layout.axes if _leads_banks(axis)), None)
    if lead is None or l2b_use(layout) is not L2bUse.GROUPS:
        return False
    outer = [sub for _, _, sub in layout.digits(Level.ADDR) if sub.stride >= 2 * lead.stride]
    return all(sub.stride % (2 * lead.stride) == 0 for sub in outer) and (
        gather_banks(spread_banks(layout)).equivalent(layout)
    )


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
