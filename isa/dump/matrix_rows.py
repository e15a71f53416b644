"""Where the rows of a matrix register lie among the 16 physical rows of its plane."""

from __future__ import annotations

from functools import cache

PHYSICAL_ROWS = 16


@cache
def row_step(precision: str) -> int:
    """Physical rows from one logical row to the next in precision d, f, g or h.

    The layout belongs to the write kernels, so this asks one of them: it writes row 1 of an empty plane and looks.
    """
    from hw.kernels.matrix_move import MWRITE

    plane = [[0] * 4 for _ in range(PHYSICAL_ROWS)]
    ones = [(0xFFFFFFFFFFFFFFFF, 0)] * 4
    first_row, cycle = 1, 0
    MWRITE[precision, 1].reference(ones, ones, ones, plane, (first_row, cycle))
    return next(row for row in range(PHYSICAL_ROWS) if any(plane[row]))
