"""Runs segments of a lowered program on a board: addresses, scratch memory, threads, kernel errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from hw.engine import layout as L
from hw.engine.actions import Segment
from hw.engine.errors import MixedExponents
from hw.engine.interpreter import run_segment
from hw.engine.lower import Lowered
from hw.kernels.mixed import MATRIX_ROW, decode
from hw.program import Step
from hw.state.board import Board

_ALIGN = 8  # long words in a cache line
_WORTH_A_THREAD = 150  # microseconds of work from which handing a segment to threads pays


class _Worker:
    """Scratch memory, buffer table and base register flags of one thread."""

    def __init__(self, l1bs: int) -> None:
        offsets, size = L.scratch_offsets()
        self._scratch = np.zeros(size + _ALIGN, np.uint64)
        start = -(-self._scratch.ctypes.data // 64) * 64
        self.buffers = np.zeros(L.BUFFERS, np.int64)
        for buffer, offset in offsets.items():
            self.buffers[buffer] = start + 8 * offset
        self.bars = np.zeros((l1bs, 2), np.int64)


class Machine:
    """A board bound to a lowered program; use as a context manager (it may own threads)."""

    def __init__(self, lowered: Lowered, board: Board, threads: int) -> None:
        size = board.topology
        self._lowered, self._board = lowered, board
        self._threads = max(1, min(threads, size.l2bs))
        self._kernels = np.array([kernel.address for kernel in lowered.kernels] or [0], np.int64)
        self._state = _state_table(board)
        self._active = np.ones(size.l1bs, np.uint8)
        self._errors = np.zeros((size.l2bs, 3), np.int64)
        self._addresses = [
            array.ctypes.data
            for array in (
                lowered.blocks,
                lowered.ops,
                self._kernels,
                lowered.tables,
                lowered.parameters,
                self._state,
                self._active,
            )
        ]
        self._workers = [_Worker(size.l1b_per_l2b) for _ in range(self._threads)]
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, segment: Segment) -> None:
        """Execute a segment; MixedExponents names the earliest failing line and its first L2B and L1B."""
        l2bs = self._board.topology.l2bs
        if self._threads == 1 or segment.cost < _WORTH_A_THREAD:
            failed = self._call(segment, self._workers[0], 0, l2bs)
        else:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads)
            waiting = list(range(l2bs - 1, -1, -1))
            jobs = [self._pool.submit(self._share, segment, worker, waiting) for worker in self._workers]
            failed = sum(job.result() for job in jobs)
        if failed:
            self._raise()

    def _share(self, segment: Segment, worker: _Worker, waiting: list[int]) -> int:
        """Take L2Bs from the common list until it is empty."""
        failed = 0
        while True:
            try:
                q = waiting.pop()
            except IndexError:
                return failed
            failed += self._call(segment, worker, q, q + 1)

    def _call(self, segment: Segment, worker: _Worker, first: int, last: int) -> int:
        arguments = [
            first,
            last,
            self._board.topology.l1b_per_l2b,
            segment.first,
            segment.last,
            *self._addresses,
            worker.buffers.ctypes.data,
            worker.bars.ctypes.data,
            self._errors.ctypes.data,
        ]
        return int(run_segment(*arguments))

    def _raise(self) -> None:
        size = self._board.topology
        q = int(np.argmin(self._errors[:, 0]))
        index, b, code = (int(x) for x in self._errors[q])
        line = self._lowered.lines[index]
        assert isinstance(line, Step)
        found = decode(code)
        place = (q // size.l2b_per_group, q % size.l2b_per_group, b, found.mab)
        block = f"row {found.place} of the matrix" if found.kind == MATRIX_ROW else f"the vector of cycle {found.place}"
        message = f"{block} has elements of different exponents; expected a block float"
        raise MixedExponents(message, line.line, line.text, place)


def _state_table(board: Board) -> NDArray[np.int64]:
    """Base address and stride (bytes from one L1B, or L2B, to the next) of every state buffer."""
    arrays = {
        L.LM0: board.lm[0],
        L.LM1: board.lm[1],
        L.GRF0: board.grf[0],
        L.GRF1: board.grf[1],
        L.T: board.t,
        L.T_PREVIOUS: board.t_previous,
        L.MASKS: board.masks,
        L.BAR0: board.bar[0],
        L.BAR1: board.bar[1],
        L.MATRIX_X: board.matrix[:, 0],
        L.MATRIX_Y: board.matrix[:, 1],
        L.LATCH_ALU: board.latch_alu,
        L.LATCH_MAU: board.latch_mau,
        L.LATCH_LBF: board.latch_lbf,
        L.LATCH_MREAD: board.latch_mread,
        L.TURN: board.turn,
        L.L1BM: board.l1bm,
        L.L2BM: board.l2bm,
    }
    table = np.zeros((2, len(arrays)), np.int64)
    for buffer, array in arrays.items():
        table[0, buffer] = array.ctypes.data
        table[1, buffer] = array.strides[0]
    return table
