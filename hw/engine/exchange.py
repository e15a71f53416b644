"""L1BM and L2BM moves of the interpreter: index tables made by `hw.engine.tables`, reductions in circuits.

Long-word addresses wrap at the memory's size (a power of two).  Orders inside the reduction buffers are explained at
`reduce_pes` and `combine`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hw.engine.layout import L1BM, L2BM, PARAMETERS, REDUCE_IN, REDUCE_MID, REDUCE_OUT, STAGE
from hw.engine.native import call_kernel, copy_bytes, i64_at, u64_at, zero_bytes

_INDEX = 8  # bytes of a table entry


def load(o: Any, memory: Any, tables: Any, out: Any) -> None:
    """LOAD: L1BM or turnaround register -> tile; LW1 = 0 in 1-LW forms."""
    source, to, index = u64_at(memory), u64_at(out), i64_at(tables + o[4] * _INDEX)
    base, last = o[2], o[3] - 1
    for i in range(256):
        to[i] = source[(base + index[i]) & last]
    if o[5] == 2:
        for i in range(256, 512):
            to[i] = source[(base + index[i]) & last]
    else:
        zero_bytes(out + 2048, 2048)


def load_rows(o: Any, memory: Any, tables: Any, row_table: Any) -> None:
    """LOAD_ROWS: each long word to the 16 MABs of a row; rows of an absent LW1 become 0."""
    source, rows, index = u64_at(memory), i64_at(row_table), i64_at(tables + o[4] * _INDEX)
    base, last = o[2], o[3] - 1
    for w in range(o[5]):
        for c in range(4):
            to = u64_at(rows[w * 4 + c])
            for p in range(4):
                value = source[(base + index[w * 16 + c * 4 + p]) & last]
                for m in range(16):
                    to[p * 16 + m] = value
    if o[5] == 1:
        for c in range(4):
            zero_bytes(rows[4 + c], 512)


def store(o: Any, source: Any, l1bm: Any, turn: Any, tables: Any) -> None:
    """STORE: lanes of a tile (or of the reduction result) -> L1BM (address >= 0) and turnaround register."""
    data, lanes = u64_at(source), i64_at(tables + o[5] * _INDEX)
    count, base, last = o[4], o[2], o[3] - 1
    if base >= 0:
        to, offset = u64_at(l1bm), i64_at(tables + o[6] * _INDEX)
        for i in range(count):
            to[(base + offset[i]) & last] = data[lanes[i]]
    if o[7] >= 0:
        image, place = u64_at(turn), i64_at(tables + o[7] * _INDEX)
        for i in range(count):
            image[place[i]] = data[lanes[i]]


def _circuit(address: Any, kernels: Any, number: Any, inputs: Any, count: Any, source: Any, out: Any) -> None:
    """Run one REDUCE kernel."""
    par = i64_at(address)
    par[0], par[1] = inputs, count
    call_kernel(kernels[number], source, source, source, out, out, source, address)


def reduce_pes(o: Any, buffers: Any, kernels: Any) -> None:
    """REDUCE over MABs: MAB m = 4h + j is input j of circuit h (numerics.md 4.1).

    Stage 1 order: [w][h][c][p]; the second stage takes the four h as inputs and leaves [w][c][p].
    """
    lws, first, last, narrow = o[2], o[3], o[4], o[5]
    count = lws * 64
    source, inputs = u64_at(buffers[o[1]]), u64_at(buffers[REDUCE_IN])
    for x in range(lws * 16):  # (w, c, p)
        lane = (x >> 4) * 64 + (x & 15)
        for h in range(4):
            for j in range(4):
                inputs[j * count + lane + h * 16] = source[x * 16 + h * 4 + j]
    if first < 0:
        results = 64 if narrow else count
        _circuit(buffers[PARAMETERS], kernels, last, 4, results, buffers[REDUCE_IN], buffers[REDUCE_OUT])
        return
    _circuit(buffers[PARAMETERS], kernels, first, 4, count, buffers[REDUCE_IN], buffers[REDUCE_MID])
    for w in range(lws):
        for h in range(4):
            row = buffers[REDUCE_IN] + (h * lws + w) * 128
            copy_bytes(row, buffers[REDUCE_MID] + (w * 4 + h) * 128, 128)
    results = 16 if narrow else lws * 16
    _circuit(buffers[PARAMETERS], kernels, last, 4, results, buffers[REDUCE_IN], buffers[REDUCE_OUT])


def down(o: Any, l2bm: Any, l1bm: Any, b: Any, tables: Any) -> None:
    """DOWN for L1B b: L2BM -> L1BM."""
    if not o[6] >> b & 1:
        return
    source, to, count = u64_at(l2bm), u64_at(l1bm), o[3]
    lc, lb = i64_at(tables + (o[4] + b * count) * _INDEX), i64_at(tables + o[5] * _INDEX)
    for i in range(count):
        to[(o[2] + lb[i]) & (o[8] - 1)] = source[(o[1] + lc[i]) & (o[7] - 1)]


def up(o: Any, buffers: Any, l1bm_stride: Any, tables: Any, l1bs: Any) -> None:
    """UP: members' L1BM -> L2BM.  `buffers[L1BM]` is L1B 0 of the L2B."""
    to, lb, count = u64_at(buffers[L2BM]), i64_at(tables + o[5] * _INDEX), o[3]
    for b in range(l1bs):
        if o[6] >> b & 1:
            source = u64_at(buffers[L1BM] + b * l1bm_stride)
            lc = i64_at(tables + (o[4] + b * count) * _INDEX)
            for i in range(count):
                to[(o[1] + lc[i]) & (o[7] - 1)] = source[(o[2] + lb[i]) & (o[8] - 1)]


def combine(o: Any, buffers: Any, l1bm_stride: Any, tables: Any, kernels: Any) -> None:
    """COMBINE: the L1Bs of a circuit are its inputs, an L1B that is no member gives the unit value (isa.md 6.3, 7.5).

    Circuit table: inputs, then that many L1B numbers, for every circuit.
    """
    to, lb, count = u64_at(buffers[L2BM]), i64_at(tables + o[5] * _INDEX), o[3]
    inputs, out = u64_at(buffers[REDUCE_IN]), u64_at(buffers[REDUCE_OUT])
    circuit = i64_at(tables + o[10] * _INDEX)
    at = 0
    for _ in range(o[11]):
        size = circuit[at]
        for j in range(size):
            b = circuit[at + 1 + j]
            source = u64_at(buffers[L1BM] + b * l1bm_stride)
            member = o[6] >> b & 1
            for i in range(count):
                inputs[j * count + i] = source[(o[2] + lb[i]) & (o[8] - 1)] if member else np.uint64(o[12])
        _circuit(buffers[PARAMETERS], kernels, o[9], size, count, buffers[REDUCE_IN], buffers[REDUCE_OUT])
        lc = i64_at(tables + (o[4] + circuit[at + 1] * count) * _INDEX)
        for i in range(count):
            to[(o[1] + lc[i]) & (o[7] - 1)] = out[i]
        at += size + 1


def inner_read(o: Any, buffers: Any, l1bm_stride: Any, tables: Any, l1bs: Any) -> None:
    """INNER_READ: the addressed long words of every L1B, before the step changes them."""
    stage, lb, count = u64_at(buffers[STAGE]), i64_at(tables + o[3] * _INDEX), o[2]
    for b in range(l1bs):
        source = u64_at(buffers[L1BM] + b * l1bm_stride)
        for i in range(count):
            stage[b * count + i] = source[(o[1] + lb[i]) & (o[4] - 1)]


def inner_write(o: Any, buffers: Any, l1bm_stride: Any, tables: Any) -> None:
    """INNER_WRITE: (source, destination) L1B pairs of `l2bmi`."""
    stage, lb, count = u64_at(buffers[STAGE]), i64_at(tables + o[3] * _INDEX), o[2]
    pair = i64_at(tables + o[5] * _INDEX)
    for k in range(o[6]):
        to = u64_at(buffers[L1BM] + pair[2 * k + 1] * l1bm_stride)
        for i in range(count):
            to[(o[1] + lb[i]) & (o[4] - 1)] = stage[pair[2 * k] * count + i]
