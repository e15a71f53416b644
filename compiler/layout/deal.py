"""Rows dealt to the two banks of every group: what `mvb4` makes of the DRAM image of a value split over all L2Bs.

`mvb4` gives bank l of every group the blocks of 16 long words with odd (l = 1) or even number from all four DRAMs
(isa.md 6.2).  In the image of a value whose axis starts with `8_L2B:1, 8_L1B:1` such a block is the 8 long words of two
neighbouring L1Bs.  `l2bmd` then hands 8 long words to each L1B, so that with q = 2 g + o and b the old L2B and L1B

* the new bank is bit 1 of b, the new L1B is 2 g + bit 0 of b;
* o and bit 2 of b become addresses;
* in the order of long words in L1BM bit 2 of b comes between bits 0 and 1 of the MAB number, which makes bit 3 of the
  MAB number part of the address; the loads of `compiler.emit.deal` bring that bit where bit 2 of b was.

So all groups hold all rows, each bank half of them, and every row lies in one L1B.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.layout.errors import LayoutError
from compiler.layout.l2b import COPIED_GROUPS
from compiler.layout.layout import Layout
from compiler.layout.levels import Level
from compiler.layout.terms import Axis, SubAxis

#: Old MAB stride -> new one.
MAB_BITS = {8: 2, 4: 8, 2: 4, 1: 1}
#: The MAB in which each old MAB's data lie.
DEALT_MABS = tuple(sum(new for old, new in MAB_BITS.items() if m & old) for m in range(16))

_LEAD = (SubAxis(8, Level.L2B, 1), SubAxis(8, Level.L1B, 1))
_GROUP, _BANK, _ODD = SubAxis(4, Level.L1B, 2), SubAxis(2, Level.L2B, 1), SubAxis(2, Level.L1B, 1)


def deal_rows(layout: Layout) -> Layout:
    """The layout in which rows arrive.  Raises LayoutError when no axis starts with `8_L2B:1, 8_L1B:1`, or when the
    MABs are split in part.
    """
    number = next((n for n, axis in enumerate(layout.axes) if axis.subaxes[:2] == _LEAD), None)
    if number is None or not mabs_movable(layout):
        raise LayoutError(f"{layout} has no axis that starts with 8_L2B:1, 8_L1B:1, or is split over some MABs only")
    inner = layout.axes[number].subaxes[2:]
    stride = inner_stride(layout.axes[number])
    lead = (_GROUP, SubAxis(4, Level.ADDR, stride), _BANK, _ODD)
    axes = [
        Axis((*lead, *inner)) if n == number else Axis(tuple(_moved(axis, stride)))
        for n, axis in enumerate(layout.axes)
    ]
    return Layout(tuple(axes), (*layout.broadcast, COPIED_GROUPS))


def undeal_rows(layout: Layout) -> Layout | None:
    """The layout of which `layout` is the `deal_rows`, None if there is none."""
    for number, axis in enumerate(layout.axes):
        lead = axis.subaxes[:4]
        if len(lead) < 4 or (lead[0], *lead[2:]) != (_GROUP, _BANK, _ODD):
            continue
        if (lead[1].extent, lead[1].level) != (4, Level.ADDR) or not mabs_movable(layout):
            continue
        stride = lead[1].stride
        axes = [
            Axis((*_LEAD, *axis.subaxes[4:])) if n == number else Axis(tuple(_moved_back(other, stride)))
            for n, other in enumerate(layout.axes)
        ]
        found = Layout(tuple(axes), tuple(entry for entry in layout.broadcast if entry != COPIED_GROUPS))
        return found if deal_rows(found).equivalent(layout) else None
    return None


def dealable(layout: Layout) -> bool:
    """Whether there is a download that deals the rows of a value in `layout` (`compiler.emit.deal`)."""
    lead = any(axis.subaxes[:2] == _LEAD for axis in layout.axes)
    alike = layout.is_broadcast(Level.MAB) and layout.is_broadcast(Level.PE)
    return lead and (alike or layout.split_extent(Level.MAB) == 16)


def dealt_mabs(axis: Axis) -> Axis:
    """An axis with its MAB digits where dealing brings them."""
    return Axis(tuple(_with_bits(axis.subaxes, MAB_BITS)))


def mabs_movable(layout: Layout) -> bool:
    """Whether the MABs are split completely or hold copies."""
    return layout.is_broadcast(Level.MAB) or layout.split_extent(Level.MAB) == 16


def inner_stride(rows: Axis) -> int:
    """Long words of a PE along the axis of rows, before it was dealt."""
    return 1 + sum(sub.span for sub in rows if sub.level is Level.ADDR)


def _moved(axis: Axis, stride: int) -> list[SubAxis]:
    return [
        SubAxis(sub.extent, sub.level, 4 * sub.stride) if _outer(sub, stride) else sub
        for sub in _with_bits(axis.subaxes, MAB_BITS)
    ]


def _moved_back(axis: Axis, stride: int) -> list[SubAxis]:
    return [
        SubAxis(sub.extent, sub.level, sub.stride // 4) if _outer(sub, 4 * stride) else sub
        for sub in _with_bits(axis.subaxes, {new: old for old, new in MAB_BITS.items()})
    ]


def _outer(sub: SubAxis, stride: int) -> bool:
    return sub.level is Level.ADDR and sub.stride >= stride


def _with_bits(subs: Sequence[SubAxis], strides: dict[int, int]) -> list[SubAxis]:
    """Digits with the bits of the MAB number renamed; bits that stay neighbours stay one digit."""
    found: list[SubAxis] = []
    for sub in subs:
        if sub.level is not Level.MAB:
            found.append(sub)
            continue
        for bit in reversed(range(sub.extent.bit_length() - 1)):
            stride = strides[sub.stride << bit]
            last = found[-1] if found and found[-1].level is Level.MAB else None
            if last is not None and last.stride == 2 * stride:
                found[-1] = SubAxis(2 * last.extent, Level.MAB, stride)
            else:
                found.append(SubAxis(2, Level.MAB, stride))
    return found
