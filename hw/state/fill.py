"""What all memories of a board hold before a program: one long word everywhere, or random bytes (compiler.md 12).

A DRAM has 4 GiB per group.  Its contents repeat after `DRAM_PERIOD` long words: one memory file is mapped over and
over, copy on write, so that a filled DRAM costs as much as what is written to it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.state.board import Board
from hw.state.errors import OptionError

U64 = NDArray[np.uint64]

DRAM_PERIOD = 2**22  # 32 MiB
_BYTES = 8
_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000  # of Linux
_VARIABLE_MASKS = slice(1, 16)  # the others cannot be written (isa.md 3.7)


@dataclass(frozen=True, slots=True)
class Fill:
    """Either `pattern`, a uint64 for every long word, or `seed`, 0 or more, of random bytes.  OptionError otherwise."""

    pattern: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if (self.pattern is None) == (self.seed is None):
            raise OptionError("a fill is a pattern or random bytes of a seed, one of the two")
        if self.pattern is not None and not 0 <= self.pattern < 2**64:
            raise OptionError(f"pattern {self.pattern}: expected 0 to {2**64 - 1:#x}")
        if self.seed is not None and self.seed < 0:
            raise OptionError(f"seed {self.seed}: expected 0 or more")

    def words(self, count: int, memory: int) -> U64:
        """`count` long words, the same on every call; `memory` numbers a board's memories, so that they differ."""
        if self.pattern is not None:
            return np.full(count, self.pattern, np.uint64)
        return np.random.PCG64([self.seed or 0, memory]).random_raw(count)

    def __str__(self) -> str:
        if self.pattern is not None:
            return "zeros" if self.pattern == 0 else f"the pattern {self.pattern:#018x}"
        return f"random bytes of seed {self.seed}"


def fill_board(board: Board, fill: Fill) -> None:
    """Set LM, GRF, T, matrix registers, L1BM, L2BM, PDM and DRAM of `board`; all variable masks become all ones.

    Replaces the arrays of the DRAM; commits about 200 MiB.
    """
    arrays = (board.lm, board.grf, board.t, board.matrix, board.l1bm, board.l2bm, board.pdm)
    for number, array in enumerate(arrays):
        array.reshape(-1)[:] = fill.words(array.size, number)
    board.t_previous[:] = board.t
    board.masks[:, _VARIABLE_MASKS] = 15
    if fill.pattern == 0:
        board.dram = [np.zeros(dram.size, np.uint64) for dram in board.dram]
    else:
        board.dram = [_repeated(fill, len(arrays) + group, dram.size) for group, dram in enumerate(board.dram)]


def _repeated(fill: Fill, memory: int, lws: int) -> U64:
    """`lws` long words whose contents repeat after DRAM_PERIOD."""
    if lws <= DRAM_PERIOD:
        return fill.words(lws, memory)
    descriptor = os.memfd_create("dram-fill", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, DRAM_PERIOD * _BYTES)
        with mmap.mmap(descriptor, DRAM_PERIOD * _BYTES) as window:
            window[:] = fill.words(DRAM_PERIOD, memory).astype("<u8").tobytes()
        return _mapped_over_and_over(descriptor, lws * _BYTES)
    finally:
        os.close(descriptor)


def _mapped_over_and_over(descriptor: int, size: int) -> U64:
    """`size` bytes of address space, covered by private copies of the file one behind the other."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    reserved = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    start = _checked(libc.mmap(None, size, 0, reserved, -1, 0))
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    for at in range(0, size, DRAM_PERIOD * _BYTES):
        part = min(DRAM_PERIOD * _BYTES, size - at)
        flags = mmap.MAP_PRIVATE | _MAP_NORESERVE | _MAP_FIXED
        _checked(libc.mmap(start + at, part, protection, flags, descriptor, 0))
    memory = (ctypes.c_uint64 * (size // _BYTES)).from_address(start)
    weakref.finalize(memory, libc.munmap, start, size).atexit = False
    return np.ctypeslib.as_array(memory)


def _checked(address: int | None) -> int:
    """The address of a mapping; MemoryError for the -1 of a failed one."""
    if address is None or address == ctypes.c_void_p(-1).value:
        raise MemoryError(f"a filled DRAM cannot be mapped: {os.strerror(ctypes.get_errno())}")
    return address
