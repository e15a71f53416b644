"""DRAM address registers: filling them from an L2BM, and DRAM access through them (isa.md 3.9, 7.8, 19.7).

`l2bmdars` copies 512 address words (256 LW, most significant word first) of one L2BM of each group into the group's
buffer and remembers the first DAR entry; each `l2bmdarw` moves the next four words on.  Behind the last word it starts
over, entries wrap at the end of the DAR (both observed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.program import L2Kind, L2Move
from hw.state.board import Board

U64 = NDArray[np.uint64]
_BLOCK = 16
_PER_STEP = 4


@dataclass(frozen=True, slots=True)
class DarAction:
    """The DAR items of consecutive steps, in order; one entry per step."""

    steps: tuple[tuple[L2Move, ...], ...]

    def run(self, board: Board) -> None:
        """Apply them.  Within a step `l2bmdarw` still uses the buffer as it was."""
        for items in self.steps:
            for item in sorted(items, key=lambda item: item.kind is L2Kind.DARS):
                if item.kind is L2Kind.DARW:
                    _drain(board)
                else:
                    _fill(board, item)


def _fill(board: Board, item: L2Move) -> None:
    banks, words = board.topology.l2b_per_group, board.topology.darbuf_words
    size = board.topology.l2bm
    addresses = np.arange(item.lc, item.lc + words // 2) % size
    lws = board.l2bm[item.bank :: banks, addresses]
    board.darbuf[:, 0::2] = lws >> np.uint64(32)
    board.darbuf[:, 1::2] = lws & np.uint64(0xFFFFFFFF)
    board.dar_entry[:] = item.dar
    board.dar_position[:] = 0


def _drain(board: Board) -> None:
    size, words = board.topology.dar, board.topology.darbuf_words
    for n in range(board.topology.groups):
        position = int(board.dar_position[n]) + np.arange(_PER_STEP)
        board.dar[n, (int(board.dar_entry[n]) + position) % size] = board.darbuf[n, position % words]
    board.dar_position += _PER_STEP


def indirect_blocks(board: Board, group: int, entry: int, count: int, uses: int | None) -> NDArray[np.int64]:
    """DRAM block numbers of `count` consecutive blocks of a transfer that starts at DAR entry `entry`.

    `uses` (suffix `nd`): consecutive blocks per entry; None: all from the first entry.
    """
    k = np.arange(count, dtype=np.int64)
    per_entry = uses or max(count, 1)
    entries = (entry + k // per_entry) % board.topology.dar
    return (board.dar[group, entries].astype(np.int64) + k % per_entry) % (board.topology.dram // _BLOCK)


def indirect_read(board: Board, group: int, entry: int, count: int, uses: int | None) -> U64:
    """`count` LW of a DRAM through the DAR."""
    blocks = indirect_blocks(board, group, entry, count // _BLOCK, uses)
    return board.dram[group].reshape(-1, _BLOCK)[blocks].reshape(-1)


def indirect_write(board: Board, group: int, entry: int, data: U64, uses: int | None) -> None:
    """Store LW into a DRAM through the DAR; a block named twice keeps the later data."""
    blocks = indirect_blocks(board, group, entry, len(data) // _BLOCK, uses)
    board.dram[group].reshape(-1, _BLOCK)[blocks] = data.reshape(-1, _BLOCK)


def dar_items(items: Sequence[object]) -> tuple[L2Move, ...]:
    """The DAR items of a step."""
    return tuple(item for item in items if isinstance(item, L2Move) and item.kind in (L2Kind.DARS, L2Kind.DARW))
