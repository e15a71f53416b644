"""Layouts of the same elements as halves and as singles: a long word holds four of the ones, two of the others.

The place in a long word of halves has two binary digits.  The lower one is the place among two singles.  The upper one,
where it distinguishes elements, becomes an address digit of stride 1: the two long words that one long word becomes.
"""

from __future__ import annotations

from compiler.layout.errors import LayoutError
from compiler.layout.layout import Layout
from compiler.layout.levels import Level
from compiler.layout.terms import Axis, Broadcast, SubAxis

_UPPER, _LOWER = SubAxis(2, Level.W, 2), SubAxis(2, Level.W, 1)


def upper_word_split(halves: Layout) -> bool:
    """Whether the two words of a long word of halves hold different elements."""
    return any(_UPPER in _binary(axis) for axis in halves.axes)


def widen(halves: Layout) -> Layout:
    """The layout of singles that a conversion word by word gives.  Raises LayoutError for digits of three words."""
    split = upper_word_split(halves)
    axes = []
    for axis in halves.axes:
        subs = []
        for sub in _binary(axis):
            if sub == _UPPER:
                subs.append(SubAxis(2, Level.ADDR, 1))
            elif sub.level is Level.ADDR and split:
                subs.append(SubAxis(sub.extent, Level.ADDR, 2 * sub.stride))
            else:
                subs.append(sub)
        axes.append(Axis(tuple(subs)))
    return _with_words(axes, halves, [])


def narrow(singles: Layout) -> Layout:
    """A layout of halves of which `singles` is the `widen`.

    Two neighbouring long words become one where an address digit of stride 1 has an even extent; otherwise each becomes
    one long word whose two words are alike.
    """
    pair = _pair_digit(singles)
    axes = []
    for number, axis in enumerate(singles.axes):
        subs = []
        for place, sub in enumerate(axis):
            if (number, place) == pair:
                subs += [SubAxis(sub.extent // 2, Level.ADDR, 1)] if sub.extent > 2 else []
                subs.append(_UPPER)
            elif pair and sub.level is Level.ADDR and sub.extent > 1:
                subs.append(SubAxis(sub.extent, Level.ADDR, sub.stride // 2))
            else:
                subs.append(sub)
        axes.append(Axis(tuple(subs)))
    return _with_words(axes, singles, [] if pair else [Broadcast(Level.W, 2, 2)])


def _binary(axis: Axis) -> list[SubAxis]:
    """The digits of an axis with those of words cut into binary ones."""
    found: list[SubAxis] = []
    for sub in axis:
        if sub == SubAxis(4, Level.W, 1):
            found += [_UPPER, _LOWER]
        elif sub.level is Level.W and sub not in (_UPPER, _LOWER) and sub.extent > 1:
            raise LayoutError(f"the digit {sub} is no power of two within a long word of halves")
        else:
            found.append(sub)
    return found


def _with_words(axes: list[Axis], source: Layout, copies: list[Broadcast]) -> Layout:
    """The layout of `axes` with the broadcast levels of `source`; words that no digit names hold copies."""
    others = [entry for entry in source.broadcast if entry.level is not Level.W]
    words = [sub for axis in axes for sub in axis if sub.level is Level.W]
    if not words:
        return Layout(tuple(axes), (*others, Broadcast(Level.W)))
    if _UPPER in words and _LOWER not in words:
        copies = [Broadcast(Level.W, 2, 1)]
    return Layout(tuple(axes), (*others, *copies))


def _pair_digit(singles: Layout) -> tuple[int, int] | None:
    """(axis, position) of the address digit whose lowest bit distinguishes neighbouring long words."""
    digits = [sub for _, _, sub in singles.digits(Level.ADDR) if sub.extent > 1]
    for number, axis in enumerate(singles.axes):
        for place, sub in enumerate(axis):
            if sub.level is Level.ADDR and sub.stride == 1 and sub.extent % 2 == 0:
                rest = [other for other in digits if other != sub]
                return (number, place) if all(other.stride % 2 == 0 for other in rest) else None
    return None
