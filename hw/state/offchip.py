"""Contents of PDM and DRAM before a program (isa.md 15.3), without paying for gigabytes.

`zero` and `uninitialized` read 0.  `unique`: word a of the PDM reads size - a; a DRAM reads 0x800000 - a in its first
2**23 LW and 0x1000000 - (a mod 2**23) behind them (observed on the vendor's emulator).
"""

from __future__ import annotations

import mmap
import os
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from hw.state.errors import OptionError

_PERIOD = 2**23
_BYTES = 8


class OffchipInit(Enum):
    """Initialisation modes of the off-chip memories."""

    ZERO = "zero"
    UNIQUE = "unique"
    UNINITIALIZED = "uninitialized"

    @classmethod
    def parse(cls, text: str) -> OffchipInit:
        """The mode called `text`; OptionError otherwise."""
        for mode in cls:
            if mode.value == text:
                return mode
        raise OptionError(f"off-chip memory initialisation {text!r}: expected {', '.join(m.value for m in cls)}")


def make_pdm(mode: OffchipInit, groups: int, lws: int) -> NDArray[np.uint64]:
    """PDMs of all groups, uint64 [groups][lws]."""
    if mode is not OffchipInit.UNIQUE:
        return np.zeros((groups, lws), np.uint64)
    return np.tile(np.arange(lws, 0, -1, dtype=np.uint64), (groups, 1))


def make_dram(mode: OffchipInit, groups: int, lws: int) -> list[NDArray[np.uint64]]:
    """One uint64 [lws] per group; memory is committed when it is touched (in `unique` mode when it is written)."""
    if mode is not OffchipInit.UNIQUE:
        return [np.zeros(lws, np.uint64) for _ in range(groups)]
    pattern = _pattern_file(lws)
    try:
        return [_private_copy(pattern, lws) for _ in range(groups)]
    finally:
        os.close(pattern)


def _pattern_file(lws: int) -> int:
    """Descriptor of a memory file with the pattern in its first 2**24 LW, shared by all groups, and a sparse rest.

    Addresses from 2**24 LW (128 MiB) on read 0 there: the emulator repeats the second period, at 4 GiB of memory.
    """
    descriptor = os.memfd_create("dram-unique", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, lws * _BYTES)
    start = min(lws, 2 * _PERIOD)
    head = np.concatenate([np.arange(_PERIOD, 0, -1, dtype=np.uint64), np.arange(2 * _PERIOD, _PERIOD, -1)])[:start]
    with mmap.mmap(descriptor, start * _BYTES) as window:
        window[:] = head.astype("<u8").tobytes()
    return descriptor


def _private_copy(descriptor: int, lws: int) -> NDArray[np.uint64]:
    """A copy-on-write view of the whole file."""
    pages = mmap.mmap(descriptor, lws * _BYTES, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    return np.frombuffer(pages, np.uint64)
