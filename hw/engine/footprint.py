"""What part of an L1B's state a segment can touch, when that is known before it runs.

The steps of a LOCAL block are a function of the state of one L1B alone, unless they read an L2BM or ask where they
stand.  So two L1Bs that agree on everything such a segment can read or write agree afterwards, too: `hw.engine.twins`
runs one of them and copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hw.engine import layout as L
from hw.program import Fixed

_ROW, _TILE, _PLANE, _TURN, _LW = 512, 4096, 8192, 2048, 8
_WHOLE: Final = {
    L.T: _TILE,
    L.T_PREVIOUS: _TILE,
    L.MASKS: 32 * 256,
    L.MATRIX_X: _PLANE,
    L.MATRIX_Y: _PLANE,
    L.LATCH_ALU: _TILE,
    L.LATCH_MAU: _TILE,
    L.LATCH_LBF: _TILE,
    L.LATCH_MREAD: _TILE,
    L.TURN: _TURN,
}
_MEMORIES: Final = frozenset((L.LM0, L.LM1, L.GRF0, L.GRF1))
_PLACES: Final = frozenset((Fixed.L2BID, Fixed.L1BID))
# op: fields that name buffers (and touch all of them)
_BUFFERS: Final[dict[int, Sequence[int]]] = {
    L.COPY: (1, 2),
    L.FILL: (1,),
    L.FIXED: (1,),
    L.KERNEL: (2, 3, 4, 5, 6, 7),
    L.LOAD: (1, 6),
    L.LOAD_ROWS: (1,),
    L.STORE: (1,),
    L.REDUCE: (1,),
    L.FLUSH: (1,),
    L.GATHER: (2,),
    L.WRITE: (2,),
    L.WRITE_T: (1,),
    L.WRITE_MASK: (2,),
    L.ROWS: (),
    L.MATRIX: (),
    L.FORGET: (),
}
_MASK_KIND: Final = {L.FLUSH: 2, L.WRITE: 12, L.WRITE_T: 2, L.WRITE_MASK: 3}


class _Unknown(Exception):
    """The segment touches what is not known, or more than one L1B."""


class _Collector:
    def __init__(self, table: Callable[[int, int], Sequence[int]]) -> None:
        self._table = table
        self.whole: set[int] = set()
        self.rows: set[tuple[int, int]] = set()  # buffer, byte offset

    def add(self, op: Sequence[int]) -> None:
        code = op[0]
        if code not in _BUFFERS or (code == L.FIXED and op[2] in _PLACES):
            raise _Unknown
        self.whole.update(op[field] for field in _BUFFERS[code])
        if _MASK_KIND.get(code) is not None and op[_MASK_KIND[code]] == L.BY_ENTRY:
            self.whole.add(L.MASKS)
        if code in (L.GATHER, L.WRITE):
            self._memory(op)
        elif code in (L.ROWS, L.MATRIX):
            self._row_table(op[2], op[3])
            if code == L.MATRIX:
                self.whole.add(L.MATRIX_X + op[5])
        elif code == L.LOAD_ROWS:
            self._row_table(op[6], op[7])
            self._l1bm(op[1], op[2], op[3], self._table(op[4], op[5] * 16))
        elif code == L.LOAD:
            self._l1bm(op[1], op[2], op[3], self._table(op[4], op[5] * 256))
        elif code == L.STORE:
            self.whole.add(L.TURN)
            if op[2] >= 0:
                self._l1bm(L.L1BM, op[2], op[3], self._table(op[6], op[4]))
        elif code == L.WRITE_T:
            self.whole.add(L.T)
        elif code == L.WRITE_MASK:
            self.whole.add(L.MASKS)

    def _memory(self, op: Sequence[int]) -> None:
        if op[10] >= 0:
            raise _Unknown
        width, last = op[3], op[8] - 1
        for a in op[4:8]:
            for moved in (a, a + width) if op[9] >= 0 else (a,):
                first = (moved & last & -width) >> 1
                self.rows.update((op[1], (first + k) * _ROW) for k in range(max(width // 2, 1)))

    def _row_table(self, at: int, entries: int) -> None:
        values = self._table(at, 3 * entries)
        for buffer, offset in zip(values[1::3], values[2::3], strict=True):
            if buffer in _MEMORIES:
                self.rows.add((buffer, offset))
            else:
                self.whole.add(buffer)

    def _l1bm(self, memory: int, address: int, wrap: int, offsets: Sequence[int]) -> None:
        if memory == L.L1BM:
            self.rows.update((L.L1BM, (address + x) % wrap * _LW // _ROW * _ROW) for x in offsets)


def footprint(ops: Sequence[Sequence[int]], table: Callable[[int, int], Sequence[int]]) -> NDArray[np.int64] | None:
    """Areas (state buffer, byte offset, bytes), int64 [n][3], that LOCAL ops can touch while the BARs are 0.

    table(offset, count): values of the table pool.  None when that is not known or other L1Bs play a part.
    """
    collector = _Collector(table)
    try:
        for op in ops:
            collector.add(op)
    except _Unknown:
        return None
    areas = [(buffer, 0, _WHOLE[buffer]) for buffer in sorted(collector.whole) if buffer in _WHOLE]
    areas += [(buffer, offset, _ROW) for buffer, offset in sorted(collector.rows)]
    return np.array(areas, np.int64).reshape(-1, 3)
