"""`run_segment`: the compiled loop that executes lowered ops for one L2B.

A segment is a list of blocks.  A LOCAL block runs its ops for one L1B after the other (its state stays in the core's
cache, spec engine.md); an ACROSS block is one op that involves several L1Bs.  Every worker has its own buffer table and
scratch memory, so L2Bs can run on any number of threads with the same result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hw.engine import layout as L
from hw.engine.exchange import combine, down, inner_read, inner_write, load, load_rows, reduce_pes, store, up
from hw.engine.native import call_kernel, copy_bytes, i64_at, take_number, u8_at, u64_at
from hw.engine.rows import (
    flush,
    gather_lanes,
    gather_rows,
    lane_addresses,
    write_bar,
    write_lanes,
    write_mask_register,
    write_rows,
    write_t,
)
from hw.kernels.fast_half_matrix import DECODED_WORDS
from hw.kernels.integer_function import integer_function

# `hw.program.Fixed` in machine form
_L2BID, _L1BID, _MABID, _PEID, _SUBPEID = range(5)
_NO_ERROR = 0x7FFFFFFFFFFFFFFF

# Op codes and buffers as plain globals: compiled code freezes them.
GATHER, COPY, FILL, FIXED, KERNEL = L.GATHER, L.COPY, L.FILL, L.FIXED, L.KERNEL
LOAD, STORE, REDUCE, DOWN, FLUSH = L.LOAD, L.STORE, L.REDUCE, L.DOWN, L.FLUSH
WRITE, WRITE_T, WRITE_BAR, WRITE_MASK = L.WRITE, L.WRITE_T, L.WRITE_BAR, L.WRITE_MASK
ROWS, MATRIX, FORGET, LOAD_ROWS = L.ROWS, L.MATRIX, L.FORGET, L.LOAD_ROWS
UP, COMBINE, INNER_READ = L.UP, L.COMBINE, L.INNER_READ
RECORD, LINE, LOCAL, STATE_BUFFERS = L.RECORD, L.LINE, L.LOCAL, L.STATE_BUFFERS
T, MASKS, BAR0, LATCH_LBF, TURN, L1BM, L2BM = L.T, L.MASKS, L.BAR0, L.LATCH_LBF, L.TURN, L.L1BM, L.L2BM
MATRIX_X, ROW_TABLE, DECODED, DECODED_BY = L.MATRIX_X, L.ROW_TABLE, L.DECODED, L.DECODED_BY
FALLBACK, FLAGS_MAU, DECODED_BYTES = L.FALLBACK, L.FLAGS_MAU, 8 * DECODED_WORDS
_OUT_SLOT, _ROW = 24, 512
LANE_ADDRESSES, PARAMETERS = L.LANE_ADDRESSES, L.PARAMETERS


def _fill(o: Any, target: Any) -> None:
    to = u64_at(target)
    for half in range(2):
        value = np.uint64(o[2 + half])
        for i in range(256):
            to[half * 256 + i] = value


def _fixed(o: Any, target: Any, q: Any, b: Any) -> None:
    """FIXED: where a PE stands, replicated over the elements of both long words (isa.md 3.13)."""
    to, which, multiplier = u64_at(target), o[2], np.uint64(o[3])
    for lane in range(256):
        p, m = lane >> 4 & 3, lane & 15
        if which == _L2BID:
            x = q
        elif which == _L1BID:
            x = b
        elif which == _MABID:
            x = m
        elif which == _PEID:
            x = 4 * m + p
        else:
            x = p
        value = np.uint64(x) * multiplier
        to[lane] = value
        to[256 + lane] = value


def _uses_lanes(o: Any, bars: Any) -> Any:
    """Do the PEs of this L1B need addresses of their own?"""
    return o[9] >= 0 or o[10] >= 0 or (o[11] >= 0 and bars[o[11]] != 0)


def _lanes(o: Any, buffers: Any) -> None:
    bar = buffers[BAR0 + o[11]] if o[11] >= 0 else np.int64(0)
    t = buffers[o[10]] if o[10] >= 0 else np.int64(0)
    lane_addresses(o, bar, t, buffers[LANE_ADDRESSES])


def _kernel(o: Any, buffers: Any, kernels: Any, parameters: Any) -> Any:
    """KERNEL; returns its error code."""
    copy_bytes(buffers[PARAMETERS], parameters + o[8] * 8, 64)
    call_kernel(
        kernels[o[1]],
        buffers[o[2]],
        buffers[o[3]],
        buffers[o[4]],
        buffers[o[5]],
        buffers[o[6]],
        buffers[o[7]],
        buffers[PARAMETERS],
    )
    return i64_at(buffers[PARAMETERS])[7]


def _row_table(tables: Any, at: Any, entries: Any, buffers: Any) -> Any:
    """Fill the row table; its address."""
    table, entry = i64_at(buffers[ROW_TABLE]), i64_at(tables + at * 8)
    for k in range(entries):
        table[entry[3 * k]] = buffers[entry[3 * k + 1]] + entry[3 * k + 2]
    return buffers[ROW_TABLE]


def _rows(o: Any, buffers: Any, kernels: Any, tables: Any, parameters: Any) -> None:
    """ROWS."""
    table = _row_table(tables, o[2], o[3], buffers)
    call_kernel(kernels[o[1]], table, table, table, table, table, table, parameters + o[4] * 8)


def _matrix(o: Any, buffers: Any, kernels: Any, tables: Any, b: Any) -> Any:
    """MATRIX: decode the plane if it is new, run the row kernel or, when a block is no common case, the general one.

    Returns the error code.
    """
    error, plane = i64_at(buffers[PARAMETERS]), buffers[MATRIX_X + o[5]]
    state = i64_at(buffers[DECODED_BY] + (2 * b + o[5]) * 8)
    decoded = buffers[DECODED] + (2 * b + o[5]) * DECODED_BYTES
    if state[0] != o[4] + 1 and state[0] != -(o[4] + 1):
        table = i64_at(buffers[ROW_TABLE])
        table[0], table[_OUT_SLOT] = plane, decoded
        at = buffers[ROW_TABLE]
        call_kernel(kernels[o[4]], at, at, at, at, at, plane, buffers[PARAMETERS])
        state[0] = o[4] + 1 if error[7] == 0 else -(o[4] + 1)
    at = _row_table(tables, o[2], o[3], buffers)
    if state[0] > 0:
        call_kernel(kernels[o[1]], at, at, at, at, at, decoded, buffers[PARAMETERS])
        if error[7] == 0:
            return 0
    return _general_on_rows(o, buffers, kernels, tables, plane)


def _general_on_rows(o: Any, buffers: Any, kernels: Any, tables: Any, plane: Any) -> Any:
    """Run the kernel o[6] on copies of the rows in the row table; its error code."""
    table, entry, tiles = i64_at(buffers[ROW_TABLE]), i64_at(tables + o[2] * 8), buffers[FALLBACK]
    for k in range(o[3]):
        slot = entry[3 * k]
        if slot < _OUT_SLOT:
            copy_bytes(tiles + slot * _ROW, table[slot], 512)
    error = i64_at(buffers[PARAMETERS])
    for k in range(8):
        error[k] = 0
    out = tiles + _OUT_SLOT * _ROW
    flags = buffers[FLAGS_MAU]
    call_kernel(kernels[o[6]], tiles, tiles + 8 * _ROW, tiles + 16 * _ROW, out, flags, plane, buffers[PARAMETERS])
    for k in range(8):
        copy_bytes(table[_OUT_SLOT + k], out + k * _ROW, 512)
    return error[7]


def _note(o: Any, b: Any, code: Any, error: Any) -> None:
    """Remember the error of the earliest line."""
    if code != 0 and o[LINE] < error[0]:
        error[0], error[1], error[2] = o[LINE], b, code


def _run_ops(
    ops: Any,
    start: Any,
    end: Any,
    buffers: Any,
    bars: Any,
    kernels: Any,
    tables: Any,
    parameters: Any,
    q: Any,
    b: Any,
    error: Any,
) -> None:
    """Ops start..end-1 for the L1B whose addresses are in `buffers`.  error: [line index, L1B in the L2B, code]."""
    for k in range(start, end):
        o = i64_at(ops + k * (RECORD * 8))
        code = o[0]
        if code == ROWS:
            _rows(o, buffers, kernels, tables, parameters)
        elif code == MATRIX:
            _note(o, b, _matrix(o, buffers, kernels, tables, b), error)
        elif code == GATHER:
            if _uses_lanes(o, bars):
                _lanes(o, buffers)
                gather_lanes(o[3], buffers[o[1]], buffers[LANE_ADDRESSES], buffers[o[2]])
            else:
                gather_rows(o, buffers[o[1]], buffers[o[2]])
        elif code == KERNEL:
            _note(o, b, _kernel(o, buffers, kernels, parameters), error)
        elif code == WRITE:
            if _uses_lanes(o, bars):
                _lanes(o, buffers)
                write_lanes(o, buffers[o[1]], buffers[o[2]], buffers[MASKS], buffers[LANE_ADDRESSES])
            else:
                write_rows(o, buffers[o[1]], buffers[o[2]], buffers[MASKS])
        elif code == COPY:
            copy_bytes(buffers[o[2]], buffers[o[1]], 4096)
        elif code == FILL:
            _fill(o, buffers[o[1]])
        elif code == FIXED:
            _fixed(o, buffers[o[1]], q, b)
        elif code == LOAD_ROWS:
            load_rows(o, buffers[o[1]], tables, _row_table(tables, o[6], o[7], buffers))
        elif code == FORGET:
            i64_at(buffers[DECODED_BY] + (2 * b + o[1]) * 8)[0] = 0
        elif code == LOAD:
            load(o, buffers[o[1]], tables, buffers[o[6]])
        elif code == REDUCE:
            reduce_pes(o, buffers, kernels)
        elif code == STORE:
            store(o, buffers[o[1]], buffers[L1BM], buffers[TURN], tables)
        elif code == DOWN:
            down(o, buffers[L2BM], buffers[L1BM], b, tables)
        elif code == FLUSH:
            flush(o, buffers[o[1]], buffers[MASKS])
        elif code == WRITE_T:
            write_t(o, buffers[T], buffers[o[1]], buffers[MASKS])
        elif code == WRITE_BAR:
            bars[o[1]] = write_bar(o, buffers[BAR0 + o[1]], buffers[o[2]], buffers[MASKS])
        elif code == WRITE_MASK:
            write_mask_register(o, buffers[MASKS], buffers[o[2]])


def _enter(buffers: Any, bases: Any, strides: Any, l1: Any) -> None:
    for k in range(STATE_BUFFERS):
        buffers[k] = bases[k] + l1 * strides[k]


def _find_bars(bars: Any, buffers: Any) -> None:
    for k in range(2):
        values, used = i64_at(buffers[BAR0 + k]), np.int64(0)
        for i in range(64):
            used |= values[i]
        bars[k] = used


def _run_across(o: Any, buffers: Any, l1bm_stride: Any, tables: Any, kernels: Any, l1bs: Any) -> None:
    """An op of an L2B; `buffers` holds the addresses of its first L1B."""
    if o[0] == UP:
        up(o, buffers, l1bm_stride, tables, l1bs)
    elif o[0] == COMBINE:
        combine(o, buffers, l1bm_stride, tables, kernels)
    elif o[0] == INNER_READ:
        inner_read(o, buffers, l1bm_stride, tables, l1bs)
    else:
        inner_write(o, buffers, l1bm_stride, tables)


@integer_function
def run_segment(
    next_q: Any,
    l2bs: Any,
    l1bs: Any,
    first_block: Any,
    last_block: Any,
    blocks_at: Any,
    ops: Any,
    kernels_at: Any,
    tables: Any,
    parameters: Any,
    state_at: Any,
    active_at: Any,
    buffers_at: Any,
    bars_at: Any,
    errors_at: Any,
) -> Any:
    """Run blocks first_block..last_block-1 for L2Bs taken from a counter that all workers share, while it is < `l2bs`.

    All arguments are int64; next_q, `_at`, ops, tables and parameters are addresses.  l1bs: L1Bs of an L2B.  state:
    base addresses of the state buffers and of L2BM, then their strides.  active: uint8 for each L1B of the board, 0
    leaves its LOCAL work out.  buffers: this worker's buffer table with scratch addresses filled in; bars: its int64
    [l1bs][2].  errors: int64 [q][3], (line index, L1B in the L2B, code) of the earliest failing op; an L2B stops at the
    end of the block that failed.  Returns the number of L2Bs that failed.
    """
    bases, strides = i64_at(state_at), i64_at(state_at + (STATE_BUFFERS + 1) * 8)
    active, buffers = u8_at(active_at), i64_at(buffers_at)
    blocks, kernels = i64_at(blocks_at), i64_at(kernels_at)
    failed = 0
    while True:
        q = take_number(next_q)
        if q >= l2bs:
            return failed
        error = i64_at(errors_at + q * 24)
        error[0] = _NO_ERROR
        first = q * l1bs
        buffers[L2BM] = bases[L2BM] + q * strides[L2BM]
        decoded_by = i64_at(buffers[DECODED_BY])
        for b in range(l1bs):
            if active[first + b]:
                _enter(buffers, bases, strides, first + b)
                _find_bars(i64_at(bars_at + b * 16), buffers)
            decoded_by[2 * b] = decoded_by[2 * b + 1] = 0
        for k in range(first_block, last_block):
            start, end = blocks[3 * k + 1], blocks[3 * k + 2]
            if blocks[3 * k] != LOCAL:
                _enter(buffers, bases, strides, first)
                _run_across(i64_at(ops + start * (RECORD * 8)), buffers, strides[L1BM], tables, kernels, l1bs)
                continue
            for b in range(l1bs):
                if active[first + b]:
                    _enter(buffers, bases, strides, first + b)
                    bars = i64_at(bars_at + b * 16)
                    _run_ops(ops, start, end, buffers, bars, kernels, tables, parameters, q, b, error)
            if error[0] != _NO_ERROR:
                failed += 1
                break
