"""NumPy model of matrix products in double precision (numerics.md 5.2, 6.1), on raw bits of whole arrays.

A block is its four signed fields of 52 bits and one exponent.  Sums of products are made of integers of 26 bits, which
become two float64 numbers whose exact sum is meant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.layers import doublemath as dm
from compiler.layers.doublemath import F64, I64, U64

MATRIX = dm.Adder(57, 88, 86)
#: Weight of a product of two fields below the sum of the block exponents: 2**-102.
LAST = 102
HALF = (1 << 26) - 1
MANTISSA = (1 << 52) - 1
Block = tuple[I64, I64]


def block(raw: U64) -> Block:
    """`dbfn` along the last axis: signed fields, and the exponent of each block (-9999 for zero)."""
    field = dm.exponent_field(raw)
    mantissa = (raw & np.uint64(MANTISSA)).astype(np.int64)
    top = field.max(axis=-1, keepdims=True)
    bump = ((field == top) & (mantissa == MANTISSA)).any(axis=-1, keepdims=True)
    shared = top + bump
    if (shared >= 2047).any():
        raise OverflowError("block exponent reaches infinity")
    shift = np.minimum(shared - field + 1, 60)
    significand = mantissa | 1 << 52
    kept = significand >> shift
    rest, half = significand - (kept << shift), (np.int64(1) << shift) >> 1
    kept = kept + ((rest > half) | ((rest == half) & (kept & 1 == 1)))
    kept = np.where(field == 0, 0, kept)
    return np.where(raw & dm.SIGN != 0, -kept, kept), np.where(top == 0, -9999, shared - 1023)[..., 0]


def _parts(fields: I64) -> tuple[I64, I64, I64, I64]:
    """Upper and lower half of the fields; what the multiplier leaves out of their products; whether it leaves any."""
    sign, size = np.sign(fields), np.abs(fields)
    low = size & int(dm.LOW)
    return sign * (size >> 26), sign * (size & HALF), sign * low, sign * (low != 0)


def _sum(left: I64, right: I64) -> tuple[F64, F64]:
    """All sums of products of rows of `left` with rows of `right`, as two numbers in units of 2**-LAST of their sum."""
    (ah, al, ad, an), (bh, bl, bd, bn) = _parts(left), (np.swapaxes(part, -1, -2) for part in _parts(right))
    middle = ah @ bl + al @ bh
    low = al @ bl - ad @ bd + dm.STAND_IN * (an @ bn) + ((middle & HALF) << 26)
    high = ah @ bh + (middle >> 26) + (low >> 52)
    upper = high >> 26 << 26
    pieces = [(upper, 52), (high - upper, 52), (low & MANTISSA, 0)]
    a, b, c = (np.ldexp(piece.astype(np.float64), place - LAST) for piece, place in pieces)
    top, rest = dm.two_sum(a, b)
    rest, last = dm.two_sum(rest, c)
    top, rest = dm.two_sum(top, rest)
    return top, rest + last


def multiply(left: Block, right: Block, addend: U64) -> U64:
    """One step of all rows with all columns: left (..., M, 4), right (..., N, 4), addend (..., M, N)."""
    exponent = left[1][..., :, None] + right[1][..., None, :]
    zero = exponent < -5000
    result = dm.nearest(_sum(left[0], right[0]), np.where(zero, 0, exponent), zero, addend, MATRIX)
    return np.where(dm.exponent_field(addend) == 2047, addend & (dm.SIGN | dm.INF), result)


def accumulate(left: U64, right: U64, bias: NDArray[np.float64] | None) -> U64:
    """The accumulators of one place: left (..., M, k, 4), right (..., N, k, 4), bias (N,) the first addend."""
    a, b = block(left), block(right)
    acc = np.zeros((left.shape[-3], right.shape[-3]), np.uint64)
    if bias is not None:
        acc = np.broadcast_to(bias, acc.shape).copy().view(np.uint64)
    for k in range(left.shape[-2]):
        acc = multiply((a[0][..., :, k, :], a[1][..., :, k]), (b[0][..., :, k, :], b[1][..., :, k]), acc)
    return acc


def add_mabs(parts: U64) -> U64:
    """`l1bmrdfadd` over axis 0, the sixteen MABs: in fours, then the four sums."""
    return dm.circuit(np.stack([dm.circuit(parts[first : first + 4]) for first in range(0, 16, 4)]))
