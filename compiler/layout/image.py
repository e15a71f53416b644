"""The DRAM image of a value: how its long words lie in the four DRAMs, and packing and unpacking host arrays.

Every time slice is one image; slice s follows slice s-1.  Inside one image, with a = LM address in long words:

* within an L1B:  MAB split: i = 64 a + 4 m + p;  MAB copied, PE split: i = 4 a + p;  both copied: i = a.
* within an L2B:  L1B split: j = 64 (i // 8) + 8 b + i % 8;  L1B copied: j = i.  Their number n2 is rounded up to 64.
* over the groups, by how L2B is used (`L2bUse`):
  both split: group q // 2, long word (q % 2) n2 + j;
  copied: group (j // 16) % 4, long word 16 (j // 64) + j % 16;
  groups split, banks copied: group q // 2, long word j;
  banks split, groups copied: group (j // 16) % 4, long word 32 (j // 64) + 16 (q % 2) + j % 16.

The sizes reproduce the addresses of the l3ir listing (compiler.md 6).  A split level that is not fully used leaves
holes; holes and padding are filled with one element value.  Host arrays are little-endian, as NumPy's on the hosts
the device is built for.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from compiler.graph.mntype import MNType
from compiler.layout.errors import ImageError
from compiler.layout.indexmap import HOLE, level_size, level_table, row_major_strides, weighted_positions
from compiler.layout.l2b import L2bUse, l2b_use
from compiler.layout.levels import PLACE_LEVELS, IntArray, Level, Place
from compiler.layout.pad_layout import PadLayout

#: Long words of one group's DRAM (4 GiB), and the unit in which values are allotted there (compiler.md 6).
GROUP_LWS = 1 << 29
SLOT_LWS = 1024

#: Long words that one group stores for each long word of an L2B.
_STORED = {L2bUse.SPLIT: 2, L2bUse.COPIED: 0.25, L2bUse.GROUPS: 1, L2bUse.BANKS: 0.5}

_Number = TypeVar("_Number", int, IntArray)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


class DramImage:
    """Image of values with one layout and element type; its index tables are made once and kept.

    Attributes: `slice_lws` long words per group of one time slice, `lws_per_group` of all slices, `slot_lws` the same
    rounded up to 1,024.  ImageError when W does not fit the type or the image does not fit a DRAM.
    """

    def __init__(self, pad_layout: PadLayout, mntype: MNType) -> None:
        self.pad_layout = pad_layout
        self.mntype = mntype
        layout = pad_layout.layout
        try:
            layout.check_words(mntype.words_per_lw)
        except ValueError as error:
            raise ImageError(f"no DRAM image of {pad_layout} as {mntype}: {error}") from None
        self._mab_split = not layout.is_broadcast(Level.MAB)
        self._pe_split = not layout.is_broadcast(Level.PE)
        self._l1b_split = not layout.is_broadcast(Level.L1B)
        self._l2b = l2b_use(layout)
        in_l1b = layout.num_lw * (64 if self._mab_split else 4 if self._pe_split else 1)
        self._in_l2b = _round_up(_round_up(in_l1b, 8) * 8 if self._l1b_split else in_l1b, 64)
        self.slice_lws = int(self._in_l2b * _STORED[self._l2b])
        self.lws_per_group = self.slice_lws * layout.num_slices
        self.slot_lws = _round_up(self.lws_per_group, SLOT_LWS)
        if self.lws_per_group > GROUP_LWS:
            needs = f"needs {self.lws_per_group} long words per group; a group has {GROUP_LWS}"
            raise ImageError(f"the DRAM image of {pad_layout} {needs}")

    # -- where things lie ----------------------------------------------------------------------------------------

    def locate(self, place: Place) -> tuple[int, int, int]:
        """(group, long word inside the image, word) of the first copy of what lies at `place` on the chip."""
        within = sum(weight * place[PLACE_LEVELS.index(level)] for level, weight in self._l1b_weights.items())
        group, lw = self._position(place.l2b, place.l1b, within)
        return group, lw + place.time * self.slice_lws, place.word

    @property
    def _l1b_weights(self) -> dict[Level, int]:
        """What one step of each level adds to i, the number of a long word within its L1B."""
        if self._mab_split:
            return {Level.ADDR: 64, Level.MAB: 4, Level.PE: 1}
        return {Level.ADDR: 4, Level.PE: 1} if self._pe_split else {Level.ADDR: 1}

    def _position(self, l2b: _Number, l1b: _Number, i: _Number) -> tuple[_Number, _Number]:
        """(group, long word) inside one slice."""
        j = 64 * (i // 8) + 8 * l1b + i % 8 if self._l1b_split else i
        if self._l2b is L2bUse.SPLIT:
            return l2b // 2, l2b % 2 * self._in_l2b + j
        if self._l2b is L2bUse.GROUPS:
            return l2b // 2, j
        if self._l2b is L2bUse.BANKS:
            return j // 16 % 4, 32 * (j // 64) + 16 * (l2b % 2) + j % 16
        return j // 16 % 4, 16 * (j // 64) + j % 16

    def _spread(self, strides: tuple[int, ...]) -> IntArray:
        """Sum of index x stride at every word of the image, negative in holes; int64[4, slices, slice LWs, words].

        The last axis counts words from the most significant one.
        """
        layout = self.pad_layout.layout
        words = self.mntype.words_per_lw

        def table(level: Level) -> IntArray:
            return level_table(layout, level, strides, level_size(layout, level, words))

        i = table(Level.ADDR)
        if self._mab_split:
            i = np.add.outer(i, np.add.outer(table(Level.MAB), table(Level.PE))).ravel()
        elif self._pe_split:
            i = np.add.outer(i, table(Level.PE)).ravel()
        j = i
        if self._l1b_split:
            rows = _padded(i, 8).reshape(-1, 1, 8)
            j = (rows + table(Level.L1B).reshape(8, 1)).ravel()
        j = _padded(j, 64)
        groups = _over_groups(self._l2b, table(Level.L2B), j).reshape(4, self.slice_lws)
        slices = groups[:, None, :] + table(Level.TIME)[:, None]
        return np.add.outer(slices, table(Level.W))

    @cached_property
    def _sources(self) -> NDArray[np.integer[Any]]:
        """For each element slot of the image in memory order: flat index of its element, or the size for filling."""
        shape, padded = self.pad_layout.shape, self.pad_layout.padded_shape
        flat = self._spread(row_major_strides(shape))
        filled = flat < 0
        for axis, (extent, most) in enumerate(zip(shape, padded, strict=True)):
            if most > extent:
                filled |= self._spread(tuple(int(axis == other) for other in range(len(shape)))) >= extent
        size = self._size
        flat[filled] = size
        in_memory = flat[..., ::-1].reshape(4, self.lws_per_group * self.mntype.words_per_lw)
        return in_memory.astype(np.int32 if size < 2**31 else np.int64)

    @cached_property
    def _targets(self) -> NDArray[np.integer[Any]]:
        """For each element: the slot of its first copy, counted over the image in memory order."""
        words = self.mntype.words_per_lw
        dtype = np.int32 if 4 * self.lws_per_group * words < 2**31 else np.int64

        def positions(weights: dict[Level, int]) -> IntArray:
            return weighted_positions(self.pad_layout.layout, weights, self.pad_layout.shape, dtype)

        group, lw = self._position(positions({Level.L2B: 1}), positions({Level.L1B: 1}), positions(self._l1b_weights))
        lw += group * self.lws_per_group
        rest = positions({Level.TIME: self.slice_lws * words, Level.W: -1})
        return rest + lw * words + (words - 1)

    @property
    def _size(self) -> int:
        return int(np.prod(self.pad_layout.shape, dtype=np.int64))

    # -- moving data ---------------------------------------------------------------------------------------------

    def pack(self, raw: NDArray[Any], pad: int = 0) -> NDArray[np.uint64]:
        """The image of `raw` (bits of the elements, uint16/32/64, unpadded shape) as uint64[4, lws_per_group].

        Padding and holes hold the raw element `pad`; every copy of a broadcast level is written.
        """
        dtype = self.mntype.raw_dtype
        if raw.dtype != dtype or raw.shape != self.pad_layout.shape:
            expected = f"{dtype}{list(self.pad_layout.shape)}"
            raise ImageError(f"expected raw {self.mntype} elements {expected}, got {raw.dtype}{list(raw.shape)}")
        if not 0 <= pad < 1 << self.mntype.bits:
            raise ImageError(f"padding element {pad:#x} does not fit the {self.mntype.bits} bits of {self.mntype}")
        elements = np.empty(raw.size + 1, dtype=dtype)
        elements[:-1] = raw.ravel()
        elements[-1] = pad
        packed: NDArray[Any] = elements[self._sources]
        return packed.view(np.uint64)

    def unpack(self, image: NDArray[np.uint64]) -> NDArray[Any]:
        """The raw elements (unpadded shape) of an image uint64[4, lws_per_group]; the first copy of copied data."""
        if image.dtype != np.uint64 or image.shape != (4, self.lws_per_group):
            raise ImageError(f"expected an image uint64[4, {self.lws_per_group}], got {image.dtype}{list(image.shape)}")
        elements: NDArray[Any] = np.ascontiguousarray(image).view(self.mntype.raw_dtype).ravel()
        found: NDArray[Any] = elements[self._targets]
        return found


def _over_groups(use: L2bUse, l2b: IntArray, j: IntArray) -> IntArray:
    """Amounts of every long word of the image, group by group, from those of the L2Bs and of what one holds."""
    if use is L2bUse.SPLIT:
        return np.add.outer(l2b, j)
    if use is L2bUse.GROUPS:
        return np.add.outer(l2b[::2], j)
    blocks = j.reshape(-1, 4, 16).swapaxes(0, 1)
    if use is L2bUse.BANKS:
        return blocks[:, :, None, :] + l2b[:2, None]
    return blocks


def _padded(table: IntArray, unit: int) -> IntArray:
    """`table` lengthened with holes to a multiple of `unit`."""
    missing = -table.size % unit
    return np.concatenate([table, np.full(missing, HOLE, dtype=np.int64)]) if missing else table
