"""The lowered form: op records, buffer numbers and the scratch memory of one worker.

An op is a record of 16 int64: ``[code, fields..., line index]``; the fields of each code are named beside it.  Buffers
are named by number; a table of addresses turns a number into the address for the L1B at hand.
"""

from __future__ import annotations

from typing import Final

from hw.kernels.abi import LANES, TILE
from hw.kernels.fast_half_matrix import DECODED_WORDS

RECORD: Final = 16
LINE: Final = 15

# --- op codes of one L1B ------------------------------------------------------------------------------------------
GATHER: Final = 1  # memory, target, width, a0..a3, words, j, T buffer or -1, BAR 0/1 or -1
COPY: Final = 2  # source, target (tiles)
FILL: Final = 3  # target, LW0, LW1
FIXED: Final = 4  # target, `Fixed` value, multiplier that replicates it over a long word
KERNEL: Final = 5  # kernel number, s0, s1, s2, out, flags, matrix, parameter offset
LOAD: Final = 6  # L1BM or turn, address, wrap, table, long words, out
STORE: Final = 7  # source, address or -1, wrap, count, lane table, offset table, turn offset table or -1
REDUCE: Final = 8  # source, long words, kernel numbers of stage 1 (or -1) and of the last, 1 for narrow
DOWN: Final = 9  # L2BM address, L1BM address, count, L2BM table, L1BM table, members, L2BM wrap, L1BM wrap
FLUSH: Final = 10  # buffer, mask kind, mask value, words
WRITE: Final = 11  # memory, source and as GATHER, mask kind, mask value | (1 for an `ll` mask) << 8
WRITE_T: Final = 12  # source, mask kind, mask value, words
WRITE_BAR: Final = 13  # BAR 0/1, source, width, mask kind, mask value, words
WRITE_MASK: Final = 14  # entry, flags, mask kind, mask value
ROWS: Final = 15  # row kernel number, row table, its entries, parameter offset
MATRIX: Final = 16  # row kernel number, row table, its entries, decoder number, plane 0/1, general kernel number
FORGET: Final = 17  # plane 0/1 was written
LOAD_ROWS: Final = 18  # L1BM or turn, address, wrap, table [w][c][p], long words, row table, its entries

# --- op codes of one L2B ------------------------------------------------------------------------------------------
UP: Final = 20  # L2BM address, L1BM address, count, L2BM table, L1BM table, members, L2BM wrap, L1BM wrap
COMBINE: Final = 21  # the same, kernel number, circuit table, circuits, unit value
INNER_READ: Final = 22  # L1BM address, count, L1BM table, L1BM wrap
INNER_WRITE: Final = 23  # L1BM address, count, L1BM table, L1BM wrap, pair table, pairs

# --- blocks of a segment: [kind, first op, end op] ----------------------------------------------------------------
LOCAL: Final = 0  # run the ops for one L1B after the other
ACROSS: Final = 1  # one L2B op

# --- rough cost of an op on the whole chip in microseconds, to decide what is worth handing to threads -------------
COST: Final = {
    GATHER: 3,
    COPY: 2,
    FILL: 4,
    FIXED: 8,
    KERNEL: 10,
    LOAD: 8,
    STORE: 12,
    REDUCE: 20,
    DOWN: 3,
    FLUSH: 8,
    WRITE: 3,
    ROWS: 5,
    MATRIX: 35,
    LOAD_ROWS: 4,
}
OTHER_COST: Final = 8
MATRIX_COST: Final = 100  # a KERNEL that uses a matrix register

# --- mask kinds ---------------------------------------------------------------------------------------------------
UNMASKED: Final = 0
BY_CYCLE: Final = 1  # value: bit c = cycle c is written
BY_ENTRY: Final = 2  # value: entry of the mask registers

# --- buffers: state of an L1B -------------------------------------------------------------------------------------
LM0: Final = 0
LM1: Final = 1
GRF0: Final = 2
GRF1: Final = 3
T: Final = 4
T_PREVIOUS: Final = 5
MASKS: Final = 6
BAR0: Final = 7
BAR1: Final = 8
MATRIX_X: Final = 9
MATRIX_Y: Final = 10
LATCH_ALU: Final = 11
LATCH_MAU: Final = 12
LATCH_LBF: Final = 13
LATCH_MREAD: Final = 14
TURN: Final = 15
L1BM: Final = 16
STATE_BUFFERS: Final = 17
# --- buffers: state of an L2B -------------------------------------------------------------------------------------
L2BM: Final = 17
# --- buffers: scratch of a worker ---------------------------------------------------------------------------------
ZERO: Final = 18  # a tile of zeros
FLAGS_ALU: Final = 19
FLAGS_MAU: Final = 20
LANE_ADDRESSES: Final = 21
PARAMETERS: Final = 22
REDUCE_IN: Final = 23
REDUCE_MID: Final = 24
REDUCE_OUT: Final = 25
STAGE: Final = 26
OUT_ALU: Final = 27  # outputs of steps that leave the latches alone
OUT_MAU: Final = 28
OUT_LBF: Final = 29
OUT_MREAD: Final = 30
OUT_NONE: Final = 31
ROW_TABLE: Final = 32  # row addresses of the op at hand
DECODED: Final = 33  # decoded planes [L1B of the L2B][plane]
DECODED_BY: Final = 34  # int64 [L1B of the L2B][plane]: decoder number + 1, negative when it refused, 0 not decoded
OTHER_ALU: Final = 35  # a step that reads a latch and writes it anew writes here
OTHER_MAU: Final = 36
OTHER_LBF: Final = 37
OTHER_MREAD: Final = 38
FALLBACK: Final = 39  # four tiles: operands of a refused row kernel
NARROW: Final = 40  # sources of at most one long word: LW1 of these tiles is always 0
NARROW_COUNT: Final = 8
WIDE: Final = NARROW + NARROW_COUNT
WIDE_COUNT: Final = 24
BUFFERS: Final = WIDE + WIDE_COUNT

OTHER: Final = {
    LATCH_ALU: OTHER_ALU,
    LATCH_MAU: OTHER_MAU,
    LATCH_LBF: OTHER_LBF,
    LATCH_MREAD: OTHER_MREAD,
}

_SIZES: Final = {
    FLAGS_ALU: LANES // 8,
    FLAGS_MAU: LANES // 8,
    LANE_ADDRESSES: LANES,
    PARAMETERS: 8,
    REDUCE_IN: 4 * 2 * LANES // 4,
    REDUCE_MID: LANES // 2,
    REDUCE_OUT: LANES // 2,
    ROW_TABLE: 32,
    FALLBACK: 4 * TILE,
}


_SIZES_PER_L1B: Final = {STAGE: 64, DECODED: 2 * DECODED_WORDS, DECODED_BY: 2}


def scratch_offsets(l1bs: int) -> tuple[dict[int, int], int]:
    """Offset in long words of every scratch buffer of a worker for L2Bs of `l1bs` L1Bs, and the total.

    Every buffer starts at a multiple of 64 bytes.
    """
    offsets: dict[int, int] = {}
    end = 0
    for buffer in range(ZERO, BUFFERS):
        offsets[buffer] = end
        size = _SIZES_PER_L1B[buffer] * l1bs if buffer in _SIZES_PER_L1B else _SIZES.get(buffer, TILE)
        end += -(-size // 8) * 8
    return offsets, end
