"""L1Bs in the same state do the same: find them, run one of each kind, copy what it did (see `hw.engine.footprint`).

Programs that care for one MAB or one L1B leave all others alike, so they cost two L1Bs instead of 64.
"""

from __future__ import annotations

from typing import Any

from hw.engine.layout import STATE_BUFFERS
from hw.engine.native import copy_bytes, i64_at, u8_at, u64_at
from hw.kernels.integer_function import integer_function

_MOST_KINDS = 4
_CHUNK = 64  # long words compared at a time


def _equal(areas: Any, count: Any, bases: Any, strides: Any, i: Any, j: Any) -> Any:
    """Do L1Bs i and j agree on all areas?"""
    for k in range(count):
        buffer, offset, words = areas[3 * k], areas[3 * k + 1], areas[3 * k + 2] >> 3
        x = u64_at(bases[buffer] + i * strides[buffer] + offset)
        y = u64_at(bases[buffer] + j * strides[buffer] + offset)
        for start in range(0, words, _CHUNK):
            different = x[start] ^ y[start]
            for at in range(start, start + _CHUNK):
                different |= x[at] ^ y[at]
            if different != 0:
                return False
    return True


@integer_function
def find_twins(areas_at: Any, count: Any, state_at: Any, l1bs: Any, active_at: Any, twin_at: Any) -> Any:
    """twin[i] (int64) <- the first L1B like i, active[i] <- 1 where that is i itself; returns how many those are.

    All arguments are int64.  areas: [count][3] of `hw.engine.footprint`; l1bs: of the whole board; state: see
    `hw.engine.interpreter.run_segment`.  With more than a few kinds the rest is not compared.
    """
    areas, bases, strides = i64_at(areas_at), i64_at(state_at), i64_at(state_at + (STATE_BUFFERS + 1) * 8)
    active, twin = u8_at(active_at), i64_at(twin_at)
    kinds = 0
    for i in range(l1bs):
        twin[i] = i
        if kinds <= _MOST_KINDS:
            for j in range(i):
                if active[j] and _equal(areas, count, bases, strides, i, j):
                    twin[i] = j
                    break
        active[i] = 1 if twin[i] == i else 0
        kinds += active[i]
    return kinds


@integer_function
def copy_twins(areas_at: Any, count: Any, state_at: Any, l1bs: Any, twin_at: Any) -> Any:
    """Give every L1B the areas of its twin; returns 0."""
    areas, bases, strides = i64_at(areas_at), i64_at(state_at), i64_at(state_at + (STATE_BUFFERS + 1) * 8)
    twin = i64_at(twin_at)
    for k in range(count):
        buffer, offset, size = areas[3 * k], areas[3 * k + 1], areas[3 * k + 2]
        for i in range(l1bs):
            if twin[i] != i:
                at = bases[buffer] + offset
                copy_bytes(at + i * strides[buffer], at + twin[i] * strides[buffer], size)
    return 0
