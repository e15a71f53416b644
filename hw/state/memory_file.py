"""Memory files of the vendor's emulator: the off-chip memories and the L2BMs as they stand (observed by round trips).

Long words are big-endian, memories follow each other whole: the DRAM of every group, the PDMs of groups 1, 2, ..., the
L2BMs by q = 2 * group + bank, and the PDM of group 0.  A file of the full board has 17,198,743,552 bytes, nearly all of
them a hole.  L1BMs, PE memories and registers are not in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from hw.state.board import U64, Board
from hw.state.errors import StateError

_BYTES = 8
_BLOCK = 1 << 19


class MemoryFileError(StateError):
    """A memory file that is too short for the board."""


def _memories(board: Board) -> list[U64]:
    """Flat views in the order of the file."""
    return [*board.dram, board.pdm[1:].reshape(-1), board.l2bm.reshape(-1), board.pdm[0]]


def save_memory(board: Board, path: str | os.PathLike[str]) -> None:
    """Write the memory file of a board; blocks of zeros become holes.  Raises OSError."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "xb") as file:
            size = 0
            for memory in _memories(board):
                for start in range(0, len(memory), _BLOCK):
                    block = memory[start : start + _BLOCK]
                    if block.any():
                        file.seek((size + start) * _BYTES)
                        file.write(block.astype(">u8").tobytes())
                size += len(memory)
            file.truncate(size * _BYTES)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load_memory(board: Board, path: str | os.PathLike[str]) -> None:
    """Take over a memory file; what stands behind the board's size is ignored, as the official emulator does.

    The board must have been made with off-chip memories of zeros: holes of the file are not read.

    Raises:
        OSError: the file cannot be read.
        MemoryFileError: it is shorter than the board's memories.
    """
    memories = _memories(board)
    wanted = sum(map(len, memories)) * _BYTES
    with open(path, "rb") as file:
        given = os.fstat(file.fileno()).st_size
        if given < wanted:
            raise MemoryFileError(f"{os.fspath(path)} has {given} bytes, the board's memories have {wanted}")
        board.l2bm.fill(0)
        first = 0
        for memory in memories:
            for start, stop in _data(file, first, first + len(memory) * _BYTES):
                file.seek(start)
                words = np.frombuffer(file.read(stop - start), ">u8")
                at = (start - first) // _BYTES
                memory[at : at + len(words)] = words
            first += len(memory) * _BYTES


def _data(file: BinaryIO, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Stretches of [start, stop) that are no holes, in blocks of whole long words."""
    while start < stop:
        try:
            begin = os.lseek(file.fileno(), start, os.SEEK_DATA)
        except OSError:  # nothing but a hole up to the end of the file
            return
        end = min(os.lseek(file.fileno(), begin, os.SEEK_HOLE), stop)
        begin = max(begin - begin % _BYTES, start)
        for block in range(begin, end, _BLOCK * _BYTES):
            yield block, min(block + _BLOCK * _BYTES, -(-end // _BYTES) * _BYTES)
        start = max(end, begin)
