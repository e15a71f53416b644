"""`Layout`: how the elements of a tensor are spread over PE, W, MAB, L1B, L2B, Time and LM addresses, without a shape.

Source: compiler.md 5 (rules R1-R10).  A `Layout` that exists is valid: its digits stay inside their levels and no two
elements share a position.  What depends on the element type (words per long word) is asked with `words_per_lw`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from compiler.layout.canonical import canonical_axes, canonical_broadcast
from compiler.layout.check import check_level
from compiler.layout.errors import LayoutError
from compiler.layout.levels import SPATIAL, Level
from compiler.layout.terms import Axis, Broadcast, SubAxis
from compiler.layout.text import read_layout

#: What `Layout.build` takes for a subaxis: the object, or (extent,), (extent, level), (extent, level, stride).
SubAxisLike = SubAxis | tuple[int] | tuple[int, Level] | tuple[int, Level, int]


@dataclass(frozen=True)
class Layout:
    """Axes (outermost subaxis first) and the levels that hold copies.  Raises LayoutError when it breaks R3 or R6."""

    axes: tuple[Axis, ...]
    broadcast: tuple[Broadcast, ...] = ()

    def __post_init__(self) -> None:
        for level in Level:
            entries = [entry for entry in self.broadcast if entry.level is level]
            check_level(level, [sub for _, _, sub in self.digits(level)], entries, level.members)

    @classmethod
    def parse(cls, text: str) -> Layout:
        """The layout written as `((8_L2B:1, 2:1), (); B@[PE,W])`; errors name the column and the nearest spelling."""
        return cls(*read_layout(text))

    @classmethod
    def build(
        cls, axes: Iterable[Iterable[SubAxisLike]], broadcast: Iterable[Broadcast | Level] | None = None
    ) -> Layout:
        """A layout from subaxes or tuples per axis.

        `broadcast` None lists every spatial level that no subaxis names, as l3ir.txt does.
        """
        built = tuple(
            Axis(tuple(sub if isinstance(sub, SubAxis) else SubAxis(*sub) for sub in subaxes)) for subaxes in axes
        )
        if broadcast is None:
            used = {sub.level for axis in built for sub in axis}
            broadcast = [level for level in SPATIAL if level not in used]
        return cls(built, tuple(entry if isinstance(entry, Broadcast) else Broadcast(entry) for entry in broadcast))

    def __str__(self) -> str:
        axes = ", ".join(map(str, self.axes))
        if not self.broadcast:
            return f"({axes})"
        return f"({axes}; B@[{','.join(map(str, self.broadcast))}])"

    def _repr_html_(self) -> str:
        """For notebooks: a row per digit, outermost first."""
        from hw.html import code, table

        rows = [
            (number, sub.extent, str(sub.level), sub.stride)
            for number, axis in enumerate(self.axes)
            for sub in axis
        ]
        copies = [("all", entry.extent or "all", f"{entry.level} (copies)", entry.stride) for entry in self.broadcast]
        return code(str(self)) + table("digits", ("axis", "extent", "level", "stride"), [*rows, *copies])

    # -- sizes ---------------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.axes)

    @cached_property
    def padded_shape(self) -> tuple[int, ...]:
        """Extent of each axis, padding included (R4)."""
        return tuple(axis.extent for axis in self.axes)

    @cached_property
    def num_lw(self) -> int:
        """Long words per PE and time slice, rounded up to even (R7)."""
        reach = 1 + sum(sub.span for _, _, sub in self.digits(Level.ADDR))
        return reach + reach % 2

    @cached_property
    def num_slices(self) -> int:
        """Number of time slices (R8)."""
        return 1 + sum(sub.span for _, _, sub in self.digits(Level.TIME))

    # -- levels --------------------------------------------------------------------------------------------------

    def digits(self, level: Level) -> list[tuple[int, int, SubAxis]]:
        """Every subaxis of `level` as (axis number, weight of the digit in the axis index, subaxis)."""
        axes = enumerate(self.axes)
        return [(number, weight, sub) for number, axis in axes for weight, sub in axis.weighted() if sub.level is level]

    def split_extent(self, level: Level) -> int:
        """Number of different members of `level` that hold different data (1 when it is not split)."""
        extent = 1
        for _, _, sub in self.digits(level):
            extent *= sub.extent
        return extent

    def is_broadcast(self, level: Level) -> bool:
        """True when all members of `level` hold the same data: listed in `B@[...]` or not named at all (R5)."""
        return level in self.broadcast_levels

    @cached_property
    def broadcast_levels(self) -> frozenset[Level]:
        """The levels whose members all hold the same data."""
        levels = []
        for level in (*SPATIAL, Level.TIME):
            entries = [entry for entry in self.broadcast if entry.level is level]
            named = bool(entries) or bool(self.digits(level))
            whole = any(entry.extent in (None, level.members) for entry in entries)
            if not named or whole:
                levels.append(level)
        return frozenset(levels)

    def addr_stride(self, axis: int) -> int:
        """Distance in long words between neighbours on the innermost address subaxis of `axis`; 0 without one."""
        strides = [sub.stride for sub in self.axes[axis] if sub.level is Level.ADDR and sub.extent > 1]
        return strides[-1] if strides else 0

    def reached(self, level: Level, members: int) -> int:
        """How many of the first `members` positions of `level` hold data, copies included."""
        if self.is_broadcast(level):
            return members
        extent = self.split_extent(level)
        for entry in self.broadcast:
            if entry.level is level and entry.extent is not None:
                extent *= entry.extent
        return extent

    def incomplete_levels(self, words_per_lw: int) -> tuple[Level, ...]:
        """Spatial levels with members that hold no data (R5 wants none); W is judged by `words_per_lw`."""
        sizes = {level: words_per_lw if level is Level.W else level.members or 1 for level in SPATIAL}
        return tuple(level for level, size in sizes.items() if self.reached(level, size) != size)

    def is_complete(self, words_per_lw: int) -> bool:
        """True when every spatial level is split completely or holds copies in all of its members (R5)."""
        return not self.incomplete_levels(words_per_lw)

    def check_words(self, words_per_lw: int) -> None:
        """Raise LayoutError when W digits need more than `words_per_lw` words (R3: Half 4, Float and Int 2, else 1)."""
        entries = [entry for entry in self.broadcast if entry.level is Level.W]
        try:
            check_level(Level.W, [sub for _, _, sub in self.digits(Level.W)], entries, words_per_lw)
        except LayoutError as error:
            raise LayoutError(f"{error} (an element type with {words_per_lw} per long word)") from None

    # -- other layouts -------------------------------------------------------------------------------------------

    def transpose(self, permutation: Sequence[int]) -> Layout:
        """The layout of the transposed tensor: new axis k is old axis `permutation[k]`; no element moves."""
        if sorted(permutation) != list(range(self.rank)):
            raise LayoutError(f"{tuple(permutation)} is no permutation of the {self.rank} axes of {self}")
        return Layout(tuple(self.axes[axis] for axis in permutation), self.broadcast)

    def canonical(self) -> Layout:
        """The same placement in normal form: subaxes merged, every copied level listed in the order of l3ir.txt."""
        return self._canonical

    @cached_property
    def _canonical(self) -> Layout:
        normal = Layout(canonical_axes(self.axes, self.broadcast), canonical_broadcast(self.axes, self.broadcast))
        return self if str(normal) == str(self) else normal

    def equivalent(self, other: Layout) -> bool:
        """True when both place every element alike, however they are written."""
        return self.canonical() == other.canonical()
