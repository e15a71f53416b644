"""Where the elements that a reduction joins lie: from a layout and the reduced axes to the stages that are needed.

Every level contributes the members that differ in its `bits`: long words and words inside a PE, PEs of a MAB, MABs of
an L1B, L1Bs of an L2B, L2Bs of the chip.  Digits are powers of two in every complete layout, so that "joined" means
"equal but for these bits".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.layout import Axis, Broadcast, Layout, Level, SubAxis
from compiler.layout.canonical import canonical_broadcast
from compiler.layout.levels import SPATIAL

#: (bits joined, bits that hold copies) of L2B -> the MV that joins them (isa.md 6.2).
L2B_MOVES = {(7, 0): "mvr", (6, 1): "mvr", (1, 6): "mvr", (1, 0): "mvr2", (6, 0): "mvr4"}


@dataclass(frozen=True)
class L1bSet:
    """L1Bs that are joined: those equal to `first` but for `joined` bits; their sum goes to all but for `back` bits."""

    first: int
    joined: int
    back: int


@dataclass(frozen=True)
class Folding:
    """A reduction of one layout.

    tiles: for every long word of the result, the source long words that meet in it, ascending.  bits: joined members of
    each spatial level.  copies: members that hold copies.  result: layout of what is left, without the reduced axes.
    """

    tiles: tuple[tuple[int, ...], ...]
    bits: Mapping[Level, int]
    copies: Mapping[Level, int]
    result: Layout

    @property
    def l2b_move(self) -> str | None:
        """Mnemonic of the MV that joins L2Bs, None when none are joined."""
        return L2B_MOVES[self.bits[Level.L2B], self.copies[Level.L2B]] if self.bits[Level.L2B] else None

    @property
    def counted_once(self) -> int:
        """Bits of $l2bid that are zero in the L2Bs that count, where others hold copies that the MV would count too."""
        return self.copies[Level.L2B] if self.l2b_move == "mvr" else 0

    @property
    def few(self) -> bool:
        """Whether four results or less go through a PE: PEs are joined before words then, for less delay."""
        return len(self.tiles) <= 4 and self.bits[Level.PE] != 1

    @property
    def packed(self) -> Layout | None:
        """The result with neighbouring long words put together, as the two words of one long word.

        None unless elements of 32 bits are joined over the words and the result has an even number of long words to
        pair.
        """
        pairs = [sub for _, _, sub in self.result.digits(Level.ADDR) if sub.stride == 1 and sub.extent > 1]
        whole = self.bits[Level.W] == 1 and not self.copies[Level.W] and self.result.split_extent(Level.W) == 1
        if not whole or len(pairs) != 1 or pairs[0].extent % 2:
            return None
        axes = []
        for axis in self.result.axes:
            subs: list[SubAxis] = []
            for sub in axis:
                if sub.level is not Level.ADDR:
                    subs.append(sub)
                elif sub == pairs[0]:
                    subs += [SubAxis(sub.extent // 2, Level.ADDR, 1), SubAxis(2, Level.W, 1)]
                else:
                    subs.append(SubAxis(sub.extent, Level.ADDR, max(1, sub.stride // 2)))
            axes.append(Axis(tuple(subs)))
        return Layout(tuple(axes), tuple(entry for entry in self.result.broadcast if entry.level is not Level.W))

    @property
    def l1b_sets(self) -> tuple[L1bSet, ...]:
        """The sets of L1Bs that are joined; empty when none are."""
        joined, copied = self.bits[Level.L1B], self.copies[Level.L1B]
        if not joined:
            return ()
        kept = 7 & ~joined & ~copied
        return tuple(L1bSet(b, joined, joined | copied) for b in range(8) if b & ~kept == 0)


def fold(layout: Layout, axes: Sequence[int], lanes: int) -> Folding | None:
    """The reduction of `axes` of a value with `lanes` elements to a long word.

    None when the layout leaves members without data, is cut in time, or splits the L2Bs in a way that no MV joins.
    """
    reduced = set(axes)
    members = {level: lanes if level is Level.W else level.members or 1 for level in SPATIAL}
    bits: dict[Level, int] = {}
    copies: dict[Level, int] = {}
    for level in SPATIAL:
        split = [(axis, sub) for axis, _, sub in layout.digits(level) if sub.extent > 1]
        bits[level] = _bits([sub for axis, sub in split if axis in reduced])
        kept = _bits([sub for axis, sub in split if axis not in reduced])
        copies[level] = members[level] - 1
        if not layout.is_broadcast(level):
            entries = [SubAxis(e.extent or 1, level, e.stride) for e in layout.broadcast if e.level is level]
            copies[level] = _bits([sub for sub in entries if sub.extent > 1])
        if min(bits[level], kept, copies[level]) < 0 or bits[level] | kept | copies[level] != members[level] - 1:
            return None
    if layout.num_slices > 1 or (bits[Level.L2B] and (bits[Level.L2B], copies[Level.L2B]) not in L2B_MOVES):
        return None
    places, packed = _pack(layout, reduced)
    inner = _sums([(sub.extent, sub.stride) for axis, _, sub in layout.digits(Level.ADDR) if axis in reduced])
    tiles = tuple(tuple(base + offset for offset in inner) for base in places)
    return Folding(tiles, bits, copies, _result(layout, reduced, packed))


def _bits(digits: Sequence[SubAxis]) -> int:
    """Bits of the member number that the digits run over; -1 when they are not made of whole bits."""
    found = 0
    for sub in digits:
        if sub.extent & (sub.extent - 1) or sub.stride & (sub.stride - 1):
            return -1
        found |= (sub.extent - 1) * sub.stride
    return found


def _sums(digits: Sequence[tuple[int, int]]) -> list[int]:
    """All sums of digit x stride of digits (extent, stride), ascending."""
    return sorted(sum(t) for t in itertools.product(*(range(0, n * s, s) for n, s in digits)))


def _pack(layout: Layout, reduced: set[int]) -> tuple[list[int], dict[tuple[int, SubAxis], int]]:
    """Source long word of every result long word, and the result's stride of every kept address digit."""
    kept = [(axis, sub) for axis, _, sub in layout.digits(Level.ADDR) if axis not in reduced and sub.extent > 1]
    kept.sort(key=lambda entry: entry[1].stride)
    strides, stride = {}, 1
    for axis, sub in kept:
        strides[axis, sub] = stride
        stride *= sub.extent
    places = [0] * math.prod(sub.extent for _, sub in kept)
    for number in range(len(places)):
        places[number] = sum(number // strides[entry] % entry[1].extent * entry[1].stride for entry in kept)
    return places, strides


def _result(layout: Layout, reduced: set[int], strides: Mapping[tuple[int, SubAxis], int]) -> Layout:
    axes = []
    for number, axis in enumerate(layout.axes):
        if number in reduced:
            continue
        subs = [
            SubAxis(sub.extent, sub.level, strides.get((number, sub), 1)) if sub.level is Level.ADDR else sub
            for sub in axis
        ]
        axes.append(Axis(tuple(subs)))
    joined = [
        Broadcast(sub.level, sub.extent, sub.stride)
        for number in reduced
        for sub in layout.axes[number]
        if sub.level in SPATIAL and sub.extent > 1
    ]
    named = {sub.level for axis in axes for sub in axis if sub.extent > 1}
    entries = [entry for entry in (*layout.broadcast, *joined) if entry.level in named]
    axes = [Axis(tuple(sub for sub in axis if sub.level in named or sub.level is Level.ADDR)) for axis in axes]
    return Layout(tuple(axes), canonical_broadcast(axes, entries))


def keep_dims(layout: Layout, rank: int, axes: Sequence[int]) -> Layout:
    """A reduced layout with empty axes put back at `axes`, those reduced of an operand of `rank` axes."""
    if not axes:
        return layout
    kept = iter(layout.axes)
    return Layout(tuple(Axis(()) if axis in axes else next(kept) for axis in range(rank)), layout.broadcast)
