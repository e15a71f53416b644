"""Random complete layouts of a given shape: mixed-radix digits in any order over all levels, copies, padding."""

from __future__ import annotations

import numpy as np

from compiler.graph import MNType
from compiler.layout import SPATIAL, Broadcast, Layout, Level, PadLayout, SubAxis


def random_shape(rng: np.random.Generator, most: int = 1 << 12) -> tuple[int, ...]:
    """Up to four axes with odd, prime, power-of-two and unit extents."""
    shape: list[int] = []
    for _ in range(rng.integers(0, 5)):
        extent = int(rng.choice([1, 2, 3, 4, 5, 7, 8, 13, 16, 32, 61, 64, 125]))
        if np.prod(shape, dtype=int) * extent <= most:
            shape.append(extent)
    return tuple(shape)


def random_layout(rng: np.random.Generator, shape: tuple[int, ...], mntype: MNType) -> PadLayout:
    """A complete layout of `shape`."""
    spare: list[SubAxis] = []
    for level in SPATIAL:
        size = mntype.words_per_lw if level is Level.W else level.members or 1
        stride = 1
        while stride < size:
            extent = int(rng.choice([e for e in (2, 4, 8, 16) if size // stride % e == 0]))
            spare.append(SubAxis(extent, level, stride))
            stride *= extent
    spare = [spare[k] for k in rng.permutation(len(spare))]
    if rng.random() < 0.4:
        dropped = rng.choice([str(level) for level in SPATIAL], size=2)
        copies = [sub for sub in spare if str(sub.level) in dropped]
        spare = [sub for sub in spare if sub not in copies]
    else:
        copies = []
    axes: list[list[SubAxis]] = [[] for _ in shape]
    stride = 1
    order = [int(k) for k in rng.permutation(len(shape))]
    addresses: dict[int, list[SubAxis]] = {}
    for number in order:
        left = shape[number]
        while left > 1 and spare and rng.random() < 0.8:
            sub = spare.pop()
            axes[number].append(sub)
            left = -(-left // sub.extent)
        addresses[number] = []
        while left > 1:
            extent = left if rng.random() < 0.6 else int(rng.integers(2, left + 1))
            if rng.random() < 0.2:
                stride += 1
            addresses[number].append(SubAxis(extent, Level.ADDR, stride))
            stride *= extent
            left = -(-left // extent)
    for number, subs in addresses.items():
        axes[number] += subs
        axes[number] = [axes[number][k] for k in rng.permutation(len(axes[number]))]
    copies += spare
    return PadLayout(shape, Layout.build(axes, [Broadcast(sub.level, sub.extent, sub.stride) for sub in copies]))
