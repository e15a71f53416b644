"""Products of operands that lie in the order of their elements: `(T:1, 4_PE:1, 2_W:1)` along the last axis.

The other products of this compiler lay neighbours over the PEs first, as the accumulators come (`product_spread`).  Two
operands that both lie in plain order, the right one alike in all MABs, need no switch: rows and columns of a matrix
plane only have to be numbered alike in both.  The rows may lie over any levels in any order; the result keeps them.
"""

from __future__ import annotations

import math

from compiler.layers.product_spread import SWITCH, UNITS, Role, Shape, Spread, work
from compiler.layout import Axis, Broadcast, Layout, Level, PadLayout, SubAxis

ABOVE = (Level.L2B, Level.L1B, Level.MAB)
#: Digit of every unit: extent and stride in its level.
_UNIT_BITS = {"G": (Level.L2B, 6), "B": (Level.L2B, 1), "L1B": (Level.L1B, 7), "MAB": (Level.MAB, 15)}


def in_order(layout: PadLayout) -> bool:
    """Whether neighbours along the last axis share a long word."""
    subs = [sub for sub in layout.layout.axes[-1] if sub.extent > 1]
    return bool(subs) and subs[-1].level is Level.W


def result_in_order(shape: Shape, left: PadLayout, right: PadLayout) -> tuple[Spread, PadLayout] | None:
    """The spread and the result's layout of a product of operands as they lie; None where they must be switched."""
    if not all(_plain(layout, shape) for layout in (left, right)) or left.is_padded or right.is_padded:
        return None
    if any(right.split_extent(level) > 1 for level in ABOVE):
        return None
    depth, columns = shape.main("K"), shape.main("N")
    rows = _axis(left, shape.left, "M")
    over_rows = [sub for sub in rows if sub.level in ABOVE]
    over_all = [sub for axis in left.layout.axes for sub in axis if sub.level in ABOVE]
    if depth % shape.tile or columns % shape.tile or len(over_all) != len(over_rows):
        return None
    letters = ""
    for unit in UNITS:
        level, bits = _UNIT_BITS[unit]
        taken = sum((sub.extent - 1) * sub.stride for sub in over_rows if sub.level is level) & bits
        if taken not in (0, bits):
            return None
        letters += "M" if taken else "-"
    tiles = columns // shape.tile
    kept = _restrided(rows, tiles) if shape.left_direct else [SubAxis(shape.main("M"), Level.ADDR, tiles)]
    inner = [SubAxis(tiles, Level.ADDR, 1), SubAxis(4, Level.PE, 1), SubAxis(shape.lanes, Level.W, 1)]
    used = {sub.level for sub in over_rows}
    copies = [entry for entry in left.layout.broadcast if entry.level in ABOVE]
    copies += [Broadcast(level) for level in ABOVE if level not in used and level not in {c.level for c in copies}]
    axes = (Axis(tuple(sub for sub in kept if sub.extent > 1)), Axis(tuple(sub for sub in inner if sub.extent > 1)))
    extents = tuple(role.extent for role in shape.result)
    return Spread(letters), PadLayout(extents, Layout(axes, tuple(copies)).canonical())


def cost_in_order(shape: Shape, spread: Spread, result: PadLayout, wish: Layout | None) -> float:
    """Estimated cycles, to be compared with those of `product_spread.cost`."""
    return work(shape, spread) + (SWITCH if wish is not None and not result.layout.equivalent(wish) else 0)


def _plain(layout: PadLayout, shape: Shape) -> bool:
    """Whether an operand of two axes lies in tiles of neighbours, with rows over other levels or addresses."""
    if len(layout.shape) != 2:
        return False
    inner = [sub for sub in layout.layout.axes[1] if sub.extent > 1]
    tail = [(sub.extent, sub.level, sub.stride) for sub in inner[-2:]]
    lanes = all(sub.level not in (Level.PE, Level.W) for sub in (*layout.layout.axes[0], *inner[:-2]))
    return tail == [(4, Level.PE, 1), (shape.lanes, Level.W, 1)] and lanes


def _axis(layout: PadLayout, roles: tuple[Role, ...], letter: str) -> tuple[SubAxis, ...]:
    number = next(number for number, role in enumerate(roles) if role.letter == letter)
    return layout.layout.axes[number].subaxes


def _restrided(rows: tuple[SubAxis, ...], unit: int) -> list[SubAxis]:
    """The rows with their addresses closed up, `unit` long words apart."""
    addresses = sorted((sub for sub in rows if sub.level is Level.ADDR), key=lambda sub: sub.stride)
    strides = {sub: unit * math.prod(low.extent for low in addresses[:n]) for n, sub in enumerate(addresses)}
    return [SubAxis(sub.extent, sub.level, strides[sub]) if sub in strides else sub for sub in rows]
