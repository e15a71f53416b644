"""How batches of images lie on the chip for convolutions and poolings.

The batch is spread as everywhere (L2B, L1B, addresses), one spatial axis over the MABs and addresses, other spatial
axes and taps over addresses, channels over addresses, words and PEs.  So a window takes its elements from the
MABs of one L1B, and a filter meets its channels in one block of the matrix unit.  Tensors of Float and Int lie as the
conversion from Half leaves them.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph import MNType
from compiler.layers.base import rows_axis
from compiler.layout import Axis, Layout, Level, PadLayout, SubAxis

Digit = tuple[int, Level, int]
MABS = 16
#: Channels of a tile.
TILE = 16
#: Channels are few when this many times as many fit a tile.
FEW = 4


def split_axis(shape: tuple[int, ...], channels: int, taps: int | None = None) -> int | None:
    """The spatial axis that is spread over the MABs: the first that fills half of them, else the longest; None where
    all have one element.
    """
    spatial = [axis for axis in range(1, len(shape)) if axis not in (channels % len(shape), taps)]
    longest = max(spatial, key=lambda axis: shape[axis])
    found = next((axis for axis in spatial if 2 * shape[axis] >= MABS), longest)
    return found if shape[found] > 1 else None


def image_layout(shape: tuple[int, ...], dtype: MNType, channels: int, taps: int | None = None) -> PadLayout:
    """The layout of (batch, ..spatial..) with the given axes of channels and taps."""
    channels %= len(shape)
    lanes, wide = _lanes(dtype)
    split = split_axis(shape, channels, taps)
    digits: list[list[Digit]] = [[] for _ in shape]
    stride = wide
    for axis in reversed(range(1, len(shape))):
        if axis in (channels, taps):
            continue
        local = -(-shape[axis] // MABS) if axis == split else shape[axis]
        digits[axis] = [*([(MABS, Level.MAB, 1)] if axis == split else []), (local, Level.ADDR, stride)]
        stride *= local
    *levels, (rows, _, _) = rows_axis(shape[0])
    digits[0] = [*levels, (rows, Level.ADDR, stride)]
    stride *= rows
    if taps is not None:
        digits[taps] = [(shape[taps], Level.ADDR, stride)]
        stride *= shape[taps]
    digits[channels] = [(-(-shape[channels] // _extent(lanes)), Level.ADDR, stride), *lanes]
    return PadLayout(shape, Layout.build([[d for d in axis if d[0] > 1] for axis in digits]).canonical())


def channels_inside(shape: Sequence[int]) -> bool:
    """Whether the channels of a filter (outputs, channels, *kernel) lie over words and PEs, which they fill; else the
    outputs do.
    """
    return shape[1] % TILE == 0


def pixel_layout(shape: tuple[int, ...], dtype: MNType) -> PadLayout | None:
    """Images (batch, channels, *spatial) of few channels, which would leave most of a tile empty: the last spatial axis
    over words and PEs, channels over addresses.  None where that saves nothing.
    """
    lanes, wide = _lanes(dtype)
    split = split_axis(shape, 1)
    if len(shape) < 4 or split == len(shape) - 1 or FEW * shape[1] > _extent(lanes):
        return None
    digits: list[list[Digit]] = [[] for _ in shape]
    stride = wide
    for axis in reversed(range(1, len(shape))):
        inner = lanes if axis == len(shape) - 1 else [(MABS, Level.MAB, 1)] if axis == split else []
        count = -(-shape[axis] // _extent(inner))
        digits[axis] = [(count, Level.ADDR, stride), *inner] if axis != split else [*inner, (count, Level.ADDR, stride)]
        stride *= count
    *levels, (rows, _, _) = rows_axis(shape[0])
    digits[0] = [*levels, (rows, Level.ADDR, stride)]
    return PadLayout(shape, Layout.build([[d for d in axis if d[0] > 1] for axis in digits]).canonical())


def filter_layout(shape: tuple[int, ...], dtype: MNType) -> PadLayout:
    """The layout of a filter (outputs, channels, *kernel): one of both over words and PEs, alike in all MABs."""
    lanes, wide = _lanes(dtype)
    inner = 1 if channels_inside(shape) else 0
    digits: list[list[Digit]] = [[] for _ in shape]
    stride = wide
    for axis in (*range(2, len(shape)), 1 - inner, inner):
        count = -(-shape[axis] // _extent(lanes)) if axis == inner else shape[axis]
        digits[axis] = [(count, Level.ADDR, stride), *(lanes if axis == inner else [])]
        stride *= count
    return PadLayout(shape, Layout.build([[d for d in axis if d[0] > 1] for axis in digits]).canonical())


def one_l1b(layout: PadLayout) -> PadLayout | None:
    """What one L1B holds, as the layout of a batch of its own; None where the batch is not spread as by `image_layout`,
    or another axis is spread over L1Bs or L2Bs.
    """
    *levels, (rows, _, _) = rows_axis(layout.shape[0])
    first, *others = layout.layout.axes
    outer = {Level.L2B, Level.L1B, Level.TIME}
    if any(sub.level in outer and sub.extent > 1 for axis in others for sub in axis):
        return None
    subs = [sub for sub in first if sub.extent > 1]
    inside = [sub for sub in subs if sub.level is Level.ADDR]
    wanted = [SubAxis(*level) for level in levels]
    if subs[: len(levels)] != wanted or subs[len(levels) :] != inside or first.extent != 64 * rows:
        return None
    copies = tuple(entry for entry in layout.layout.broadcast if entry.level not in outer)
    held = Layout((Axis(tuple(inside)), *others), copies)
    return PadLayout((rows, *layout.shape[1:]), held.canonical())


def _lanes(dtype: MNType) -> tuple[list[Digit], int]:
    """Digits of the channels in a tile, and the address stride of the innermost other axis."""
    words = dtype.words_per_lw
    if words == 2:
        return [(2, Level.ADDR, 1), (2, Level.W, 1), (4, Level.PE, 1)], 2
    return [(words, Level.W, 1), (4, Level.PE, 1)], 1


def _extent(lanes: list[Digit]) -> int:
    result = 1
    for extent, _, _ in lanes:
        result *= extent
    return result
