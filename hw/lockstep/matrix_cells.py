"""Which cells of a matrix register an `mwrite` writes and an `mread` reads.

How the rows of a precision lie among the 16 physical rows is the kernels' affair (isa.md 10), so their references are
asked.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hw.kernels.abi import Kernel

ROWS, COLUMNS, CYCLES = 16, 4, 4
_ONES = 0xFFFFFFFFFFFFFFFF
_Plane = list[list[int]]


def _empty() -> _Plane:
    return [[0] * COLUMNS for _ in range(ROWS)]


@lru_cache(maxsize=256)
def written_rows(kernel: Kernel, params: tuple[int, ...]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each cycle: (row, long word of the source it takes), for the MWRITE kernel `kernel`."""
    found = []
    for cycle in range(CYCLES):
        rows: list[tuple[int, int]] = []
        for lw in range(2):
            plane = _empty()
            source = [(_ONES, 0) if lw == 0 else (0, _ONES)] * COLUMNS
            kernel.reference(source, source, source, plane, (*params, cycle))
            rows += [(row, lw) for row in range(ROWS) if any(plane[row])]
        found.append(tuple(rows))
    return tuple(found)


@lru_cache(maxsize=256)
def read_cells(kernel: Kernel, params: tuple[int, ...]) -> NDArray[np.bool_]:
    """For the MREAD kernel `kernel`, [lw][cycle][PE][row][column]: does the result depend on that cell?"""
    found = np.zeros((2, CYCLES, COLUMNS, ROWS, COLUMNS), np.bool_)
    nothing = [(0, 0)] * COLUMNS
    for row in range(ROWS):
        for column in range(COLUMNS):
            plane = _empty()
            plane[row][column] = _ONES
            for cycle in range(CYCLES):
                out, _ = kernel.reference(nothing, nothing, nothing, plane, (*params, cycle))
                for p, pair in enumerate(out):
                    for lw in range(2):
                        found[lw, cycle, p, row, column] = pair[lw] != 0
    return found
