"""Switches by way of other layouts: exchanging one level at a time shows each PE far fewer long words than all at once.

Both layouts are cut into common digits.  An intermediate layout already has the target's digits in some levels; the
digits they displace take the places that became free, or addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from compiler.graph.mntype import MNType
from compiler.layout import Axis, Broadcast, Layout, LayoutError, Level, PadLayout, SubAxis
from compiler.switch.carry import packed
from compiler.switch.routes import Cost, cheapest, route_costs

#: Levels whose digits an intermediate layout takes from the target, and chains of them worth comparing.
CHAINS: tuple[tuple[frozenset[Level], ...], ...] = (
    (frozenset({Level.L2B}),),
    (frozenset({Level.L2B, Level.L1B}),),
    (frozenset({Level.L2B}), frozenset({Level.L2B, Level.L1B})),
    (frozenset({Level.MAB, Level.PE}),),
    (frozenset({Level.L2B}), frozenset({Level.L2B, Level.L1B}), frozenset({Level.L2B, Level.L1B, Level.MAB})),
)
#: Cycles below which a direct switch is not compared with chains.
WORTH_IT = 2000
#: An intermediate layout may need this many times the long words of the larger end.
GROWTH = 2
MEMBERS = {Level.L2B: 8, Level.L1B: 8, Level.MAB: 16, Level.PE: 4}


@dataclass(frozen=True)
class _Digit:
    """A common digit of an axis: its extent and where it lies before and after, as (level, stride)."""

    extent: int
    before: tuple[Level, int]
    after: tuple[Level, int]


def chain(source: PadLayout, target: PadLayout, mntype: MNType) -> tuple[PadLayout, ...]:
    """The layouts between source and target on the way with the fewest cycles; empty for the direct one."""
    return _chain(source, target, mntype)[0]


def chain_cycles(source: PadLayout, target: PadLayout, mntype: MNType) -> int:
    """Cycles of that way."""
    return _chain(source, target, mntype)[1]


@lru_cache(maxsize=256)
def _chain(source: PadLayout, target: PadLayout, mntype: MNType) -> tuple[tuple[PadLayout, ...], int]:
    best: tuple[PadLayout, ...] = ()
    cycles = _direct(source, target, mntype).cycles
    digits = _common_digits(source, target)
    if cycles < WORTH_IT or digits is None:
        return best, cycles
    for levels in CHAINS:
        stops: list[PadLayout] = []
        for some in levels:
            stop = _intermediate(source, target, digits, some, mntype)
            last = stops[-1] if stops else source
            if stop is not None and not stop.equivalent(last) and not stop.equivalent(target):
                stops.append(stop)
        if not stops:
            continue
        total, last = 0, source
        for stop in (*stops, target):
            total += _direct(last, stop, mntype).cycles
            last = stop
            if total >= cycles:
                break
        if total < cycles:
            best, cycles = tuple(stops), total
    return best, cycles


def _direct(source: PadLayout, target: PadLayout, mntype: MNType) -> Cost:
    return route_costs(source, target, mntype)[cheapest(source, target, mntype)]


def _common_digits(source: PadLayout, target: PadLayout) -> list[list[_Digit]] | None:
    """The digits of each axis, outermost first, cut so that both layouts agree on them; None where they cannot."""
    result: list[list[_Digit]] = []
    for one, other in zip(source.layout.axes, target.layout.axes, strict=True):
        if one.extent != other.extent:
            return None
        digits: list[_Digit] = []
        left, right = list(one), list(other)
        while left or right:
            a, b = left.pop(), right.pop()
            extent = min(a.extent, b.extent)
            if a.extent % extent or b.extent % extent:
                return None
            for sub, rest in ((a, left), (b, right)):
                if sub.extent > extent:
                    rest.append(SubAxis(sub.extent // extent, sub.level, sub.stride * extent))
            if extent > 1:
                digits.insert(0, _Digit(extent, (a.level, a.stride), (b.level, b.stride)))
            while left and left[-1].extent == 1:
                left.pop()
            while right and right[-1].extent == 1:
                right.pop()
            if bool(left) != bool(right):
                return None
        result.append(digits)
    return result


def _intermediate(
    source: PadLayout, target: PadLayout, digits: list[list[_Digit]], levels: Iterable[Level], mntype: MNType
) -> PadLayout | None:
    """The source layout with the target's digits in `levels`; None where it is no layout or too large."""
    some = frozenset(levels)
    free: list[tuple[int, Level, int]] = []
    for axis in digits:
        kept = (*some, Level.ADDR, Level.W)
        free += [(d.extent, *d.before) for d in axis if d.after[0] in some and d.before[0] not in kept]
    axes: list[list[SubAxis]] = []
    fresh = 1 + sum(sub.span for axis in source.layout.axes for sub in axis if sub.level is Level.ADDR)
    for axis in digits:
        subs: list[SubAxis] = []
        for digit in axis:
            if digit.after[0] in some:
                subs.append(SubAxis(digit.extent, *digit.after))
            elif digit.before[0] in some:
                place = next((f for f in free if f[0] == digit.extent), None)
                if place is not None:
                    free.remove(place)
                    subs.append(SubAxis(*place))
                else:
                    subs.append(SubAxis(digit.extent, Level.ADDR, fresh))
                    fresh *= digit.extent
            else:
                subs.append(SubAxis(digit.extent, *digit.before))
        axes.append(subs)
    try:
        layout = Layout(tuple(Axis(tuple(subs)) for subs in packed(axes)), _copies(axes, source.layout, mntype))
        found = PadLayout(source.shape, layout.canonical())
    except LayoutError:
        return None
    return found if found.num_lw <= GROWTH * max(source.num_lw, target.num_lw) else None


def _copies(axes: list[list[SubAxis]], source: Layout, mntype: MNType) -> tuple[Broadcast, ...]:
    """The members of every level that no digit reaches, as copies."""
    result: list[Broadcast] = []
    for level, members in (*MEMBERS.items(), (Level.W, mntype.words_per_lw)):
        taken = {1 << bit for axis in axes for sub in axis if sub.level is level for bit in _bits(sub)}
        bit = 1
        while bit < members:
            if bit not in taken:
                result.append(Broadcast(level, 2, bit))
            bit *= 2
        if members == 1 and source.is_broadcast(level):
            result.append(Broadcast(level))
    return tuple(result)


def _bits(sub: SubAxis) -> range:
    """The binary digits of its level that a digit covers (extents and strides of spatial levels are powers of two)."""
    low = sub.stride.bit_length() - 1
    return range(low, low + sub.extent.bit_length() - 1)
