"""`PadLayout`: a shape with its layout, `(125)/((8_L2B:1, 16:1); B@[...])`: the map between elements and places.

Source: compiler.md 5.1 (form), R2, R4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.layout.errors import LayoutError
from compiler.layout.indexmap import HOLE, level_size, level_table, places, row_major_strides
from compiler.layout.layout import Layout
from compiler.layout.levels import PLACE_LEVELS, IntArray, Level, Place, Places
from compiler.layout.text import read_pad_layout

_MOST_WORDS = Level.W.members or 1


@dataclass(frozen=True)
class PadLayout:
    """`shape` laid out by `layout`; LayoutError when the layout has another rank or too small an extent (R4)."""

    shape: tuple[int, ...]
    layout: Layout

    def __post_init__(self) -> None:
        if len(self.shape) != self.layout.rank:
            axes = f"{len(self.shape)} axes, layout {self.layout} has {self.layout.rank}"
            raise LayoutError(f"shape {self._shape} has {axes}")
        for number, (extent, axis) in enumerate(zip(self.shape, self.layout.axes, strict=True)):
            if axis.extent < extent:
                raise LayoutError(
                    f"axis {number} of {self._shape} has {extent} elements, but {axis} holds only {axis.extent}; "
                    f"the product of its extents must be at least {extent}"
                )

    @classmethod
    def parse(cls, text: str) -> PadLayout:
        """The pair written as `(125,1)/((8_L2B:1, 16:1), ())`; LayoutError names the column."""
        shape, axes, broadcast = read_pad_layout(text)
        return cls(shape, Layout(axes, broadcast))

    @property
    def _shape(self) -> str:
        return f"({','.join(map(str, self.shape))})"

    def __str__(self) -> str:
        return f"{self._shape}/{self.layout}"

    def _repr_html_(self) -> str:
        """For notebooks: sizes, and the digits of the layout."""
        from hw.html import table

        facts = [
            ("shape", self.shape),
            ("padded shape", self.padded_shape),
            ("long words per PE", self.num_lw),
            ("time slices", self.num_slices),
        ]
        return table(str(self), ("size", "value"), facts) + self.layout._repr_html_()

    # -- what the layout says ------------------------------------------------------------------------------------

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """Extent of each axis, padding included (R4)."""
        return self.layout.padded_shape

    @property
    def is_padded(self) -> bool:
        """True when some axis is longer in the layout than in the shape."""
        return self.shape != self.padded_shape

    @property
    def num_lw(self) -> int:
        """Long words per PE and time slice, even (R7)."""
        return self.layout.num_lw

    @property
    def num_slices(self) -> int:
        """Number of time slices (R8)."""
        return self.layout.num_slices

    def split_extent(self, level: Level) -> int:
        """See `Layout.split_extent`."""
        return self.layout.split_extent(level)

    def is_broadcast(self, level: Level) -> bool:
        """See `Layout.is_broadcast`."""
        return self.layout.is_broadcast(level)

    def addr_stride(self, axis: int) -> int:
        """See `Layout.addr_stride`."""
        return self.layout.addr_stride(axis)

    # -- index -> place ------------------------------------------------------------------------------------------

    def place(self, index: Sequence[int]) -> Place:
        """Place of the element at `index` (padding allowed): the first copy, i.e. member 0 of every copied level."""
        if len(index) != len(self.shape) or not all(0 <= i < n for i, n in zip(index, self.padded_shape, strict=True)):
            raise LayoutError(f"index {tuple(index)} lies outside the padded shape {self.padded_shape} of {self}")
        found = dict.fromkeys(PLACE_LEVELS, 0)
        for coordinate, axis in zip(index, self.layout.axes, strict=True):
            for weight, sub in axis.weighted():
                found[sub.level] += coordinate // weight % sub.extent * sub.stride
        return Place(*found.values())

    def index_arrays(self, *, padding: bool = True) -> Places:
        """Places of all elements as int64 arrays of the padded shape (of the plain shape with `padding=False`)."""
        return places(self.layout, self.padded_shape if padding else self.shape)

    # -- place -> index ------------------------------------------------------------------------------------------

    def element_at(self, place: Place) -> tuple[int, ...] | None:
        """Index in the padded shape of the element at `place`, whichever copy; None where the layout puts nothing."""
        flat = int(self.elements_at(Places(*(np.array(field) for field in place))))
        return None if flat < 0 else tuple(int(i) for i in np.unravel_index(flat, self.padded_shape))

    def elements_at(self, where: Places) -> IntArray:
        """Flat index into the padded shape of the element at each place, -1 where there is none; int64."""
        strides = row_major_strides(self.padded_shape)
        flat = np.zeros(np.broadcast_shapes(*(field.shape for field in where)), dtype=np.int64)
        for level, field in zip(PLACE_LEVELS, where, strict=True):
            table = level_table(self.layout, level, strides, level_size(self.layout, level, _MOST_WORDS))
            inside = (field >= 0) & (field < table.size)
            flat += np.where(inside, table[np.where(inside, field, 0)], HOLE)
        return np.where(flat < 0, np.int64(-1), flat)

    # -- other layouts -------------------------------------------------------------------------------------------

    def transpose(self, permutation: Sequence[int]) -> PadLayout:
        """The transposed tensor in the same places: new axis k is old axis `permutation[k]`."""
        layout = self.layout.transpose(permutation)
        return PadLayout(tuple(self.shape[axis] for axis in permutation), layout)

    def canonical(self) -> PadLayout:
        """The same placement in normal form; see `Layout.canonical`."""
        return PadLayout(self.shape, self.layout.canonical())

    def equivalent(self, other: PadLayout) -> bool:
        """True when shapes agree and every element lies alike."""
        return self.shape == other.shape and self.layout.equivalent(other.layout)
