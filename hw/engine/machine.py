"""Runs segments of a lowered program on a board: addresses, scratch memory, threads, kernel errors."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hw.engine import layout as L
from hw.engine.actions import Segment
from hw.engine.errors import MixedExponents
from hw.engine.interpreter import run_segment
from hw.engine.lower import Lowered
from hw.engine.twins import copy_twins, find_twins
from hw.kernels.mixed import MATRIX_ROW, decode
from hw.program import Step
from hw.state.board import Board

_ALIGN = 8  # long words in a cache line
_COMPARING = 1 / 50  # microseconds of work per byte of an L1B from which comparing L1Bs pays
_WORTH_A_THREAD = 150  # microseconds of work from which handing a segment to threads pays


class _Worker:
    """Scratch memory, buffer table and base register flags of one thread."""

    def __init__(self, l1bs: int) -> None:
        offsets, size = L.scratch_offsets(l1bs)
        self._scratch = np.zeros(size + _ALIGN, np.uint64)
        start = -(-self._scratch.ctypes.data // 64) * 64
        self.buffers = np.zeros(L.BUFFERS, np.int64)
        for buffer, offset in offsets.items():
            self.buffers[buffer] = start + 8 * offset
        self.bars = np.zeros((l1bs, 2), np.int64)


class Machine:
    """A board bound to a lowered program.  `pool` runs the segments that are worth more than one thread."""

    def __init__(self, lowered: Lowered, board: Board, threads: int, pool: Callable[[], ThreadPoolExecutor]) -> None:
        size = board.topology
        self._lowered, self._board, self._pool = lowered, board, pool
        self._threads = max(1, min(threads, size.l2bs))
        self._kernels = np.array([kernel.address for kernel in lowered.kernels] or [0], np.int64)
        self._state = _state_table(board)
        self._active = np.ones(size.l1bs, np.uint8)
        self._twins = np.zeros(size.l1bs, np.int64)
        self._errors = np.zeros((size.l2bs, 3), np.int64)
        self._next = np.zeros(1, np.int64)
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
        self._workers = [_Worker(size.l1b_per_l2b)]

    def run(self, number: int) -> None:
        """Execute segment `number`; MixedExponents names the earliest failing line and its first L2B and L1B."""
        segment = self._lowered.segments[number]
        kinds = self._find_twins(segment)
        cost = segment.cost * kinds // self._board.topology.l1bs
        threads = 1
        if cost >= _WORTH_A_THREAD:
            self._spread_kinds(kinds)
            threads = min(self._threads, self._busy_l2bs(kinds))
        while len(self._workers) < threads:
            self._workers.append(_Worker(self._board.topology.l1b_per_l2b))
        self._next[0] = 0
        jobs = [self._pool().submit(self._call, segment, worker) for worker in self._workers[1:threads]]
        failed = self._call(segment, self._workers[0]) + sum(job.result() for job in jobs)
        if kinds < self._board.topology.l1bs and segment.areas is not None:
            copy_twins(*self._areas(segment.areas), self._twins.ctypes.data)
        if failed:
            self._raise(kinds < self._board.topology.l1bs)

    def _find_twins(self, segment: Segment) -> int:
        """Set `_active` and `_twins`; the number of L1Bs to run."""
        l1bs, areas = self._board.topology.l1bs, segment.areas
        if areas is None or segment.cost < _COMPARING * int(areas[:, 2].sum()):
            self._active[:] = 1
            return l1bs
        return int(find_twins(*self._areas(areas), self._active.ctypes.data, self._twins.ctypes.data))

    def _spread_kinds(self, kinds: int) -> None:
        """Let the few L1Bs to run lie in different L2Bs where their twins allow it: threads share the work by L2B."""
        size = self._board.topology
        if not 1 < kinds <= size.l2bs:
            return
        groups = sorted((np.flatnonzero(self._twins == first) for first in np.unique(self._twins)), key=len)
        taken: set[int] = set()
        for members in groups:
            chosen = next((int(i) for i in members if i // size.l1b_per_l2b not in taken), int(members[0]))
            taken.add(chosen // size.l1b_per_l2b)
            self._active[members] = 0
            self._active[chosen] = 1
            self._twins[members] = chosen

    def _busy_l2bs(self, kinds: int) -> int:
        """L2Bs with work, of `kinds` L1Bs to run."""
        size = self._board.topology
        if kinds == size.l1bs:
            return size.l2bs
        return int(np.count_nonzero(self._active.reshape(size.l2bs, -1).any(axis=1)))

    def _areas(self, areas: NDArray[np.int64]) -> tuple[int, int, int, int]:
        return areas.ctypes.data, len(areas), self._state.ctypes.data, self._board.topology.l1bs

    def _call(self, segment: Segment, worker: _Worker) -> int:
        size = self._board.topology
        arguments = [
            self._next.ctypes.data,
            size.l2bs,
            size.l1b_per_l2b,
            segment.first,
            segment.last,
            *self._addresses,
            worker.buffers.ctypes.data,
            worker.bars.ctypes.data,
            self._errors.ctypes.data,
        ]
        return int(run_segment(*arguments))

    def _raise(self, twins: bool) -> None:
        """Raise for the earliest failing line and its first L1B; with `twins` one that ran stands for those like it."""
        size = self._board.topology
        index = int(self._errors[:, 0].min())
        failing = []
        for l2b in np.flatnonzero(self._errors[:, 0] == index).tolist():
            ran = l2b * size.l1b_per_l2b + int(self._errors[l2b, 1])
            first = int(np.flatnonzero(self._twins == ran)[0]) if twins else ran
            failing.append((first, int(self._errors[l2b, 2])))
        l1b, code = min(failing)
        q, b = divmod(l1b, size.l1b_per_l2b)
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
