"""How a matrix product reports a block whose elements have different exponents (numerics.md 1.2): par[7].

par[7] = kind | m << 8 | place << 16 for the first offence found: kind 1 = a matrix row (place = row), kind 2 = the
vector (place = cycle), in MAB m.  The caller clears par[7] before the call; 0 means that all blocks were proper.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hw.kernels.bits import U0, I, out_of_line

ERROR_SLOT = 7
MATRIX_ROW, VECTOR_BLOCK = 1, 2


class MixedBlock(NamedTuple):
    """Decoded par[7]; `place` is the row or the cycle."""

    kind: int
    mab: int
    place: int


def decode(code: int) -> MixedBlock:
    """Split par[7]."""
    return MixedBlock(code & 255, code >> 8 & 255, code >> 16)


def mixed_code(kind: Any, m: Any, place: Any) -> Any:
    """Encode par[7] inside a body."""
    return I(kind) | I(m) << I(8) | I(place) << I(16)


@out_of_line
def report_mixed(s0: Any, mat: Any, par: Any, row_sum: Any, first: Any, last: Any, step: Any) -> None:
    """Find the first mixed block of an f, g or d product over rows first..last-1, `step` apart, and write par[7]."""
    for m in range(16):
        for c in range(4):
            for row in range(first, last):
                mixes = row_sum(mat, s0, row * step + m, c * 64 + m)
                if mixes[-2] != U0:
                    par[ERROR_SLOT] = mixed_code(MATRIX_ROW, m, row)
                    return
                if mixes[-1] != U0:
                    par[ERROR_SLOT] = mixed_code(VECTOR_BLOCK, m, c)
                    return
