"""NumPy model of matrix products in local memory (numerics.md 4.2, 5.2, 6.1, 8): half, pseudo and true single, and by
way of `doubleproduct` double (kinds "h", "g", "f", "d").

Written from the rules, on whole arrays, with exact sums in float64 (kept exact by rounding to odd where 53 bits do not
hold one): what the simulated chip is held against, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.layers import doublemath, doubleproduct, halfmath
from compiler.layers.halfmath import F32, I64

F64 = NDArray[np.float64]
Raw = NDArray[Any]


@dataclass(frozen=True)
class Rules:
    """The finite widths of one precision: weight of a product's last place below the sum of the block exponents, the
    distances from which the addend and the product count as zero, and the addend's last place below that sum.
    """

    last: int
    addend_zero: int
    product_zero: int
    addend_last: int


RULES = {"h": Rules(16, 28, 30, 26), "g": Rules(44, 36, 29, 34), "f": Rules(44, 41, 28, 39)}
#: Low mantissa bits that a block float of singles does without.
CUT = {"g": 5, "f": 0}
Block = tuple[I64, I64]


def block(raw: Raw, kind: str) -> Block:
    """Block floats along the last axis: signed fields, and the unbiased exponent of each block (-999 for zero)."""
    if kind == "h":
        fields, exponent = halfmath.block_float(raw)
        return fields, np.where(exponent == 0, -999, exponent - 31)
    wide = raw.astype(np.int64)
    sign, exponent, mantissa = wide >> 31, (wide >> 23) & 255, wide & 0x7FFFFF
    top = exponent.max(axis=-1, keepdims=True)
    cut = CUT[kind]
    bump = ((exponent == top) & (mantissa >> cut == 0x7FFFFF >> cut)).any(axis=-1, keepdims=True)
    shared = top + bump
    if (shared >= 255).any():
        raise OverflowError("block exponent reaches infinity")
    field = halfmath.rne_shift((1 << 23) + mantissa, shared - exponent + 1 + cut) << cut
    field = np.where((exponent == 0) | (top == 0), 0, field)
    return np.where(sign == 1, -field, field), np.where(top == 0, -999, shared - 127)[..., 0]


def multiply(left: Block, right: Block, addend: F32 | None, kind: str) -> F32:
    """One step of all rows with all columns: left (..., M, tile), right (..., N, tile), addend (..., M, N) or None."""
    rules = RULES[kind]
    fields = left[0].astype(np.float64) @ np.swapaxes(right[0], -1, -2).astype(np.float64)
    if kind == "f":
        fields += _omitted(left[0], right[0])
    ep = left[1][..., :, None] + right[1][..., None, :]
    zero = ep < -500
    ep = np.where(zero, 0, ep)
    product = np.where(zero, 0.0, np.ldexp(fields, ep - rules.last))
    if addend is None:
        return halfmath.round_single(product)
    wide = addend.astype(np.float64)
    distance = ep - (np.frexp(wide)[1] - 1)
    unit = np.ldexp(1.0, ep - rules.addend_last)
    steps = np.floor(np.abs(wide) / unit)
    steps = np.where((steps * unit != np.abs(wide)) & (steps % 2 == 0), steps + 1, steps)
    aligned = np.where(distance >= rules.addend_zero, 0.0, np.sign(wide) * steps * unit)
    product = np.where((-distance >= rules.product_zero) & (wide != 0), 0.0, product)
    return halfmath.round_single(_odd_sum(product, np.where(zero, wide, aligned)))


def _omitted(left: I64, right: I64) -> F64:
    """What leaving out the products of the low five bits of both fields changes (numerics.md 3.2)."""
    low = [np.sign(fields) * (np.abs(fields) & 31) for fields in (left, right)]
    a, b = low[0], np.swapaxes(low[1], -1, -2)
    return np.asarray((np.sign(a) @ np.sign(b)) * 256 - a @ b, np.float64)


def _odd_sum(a: F64, b: F64) -> F64:
    """a + b rounded to odd, so that a later rounding to fewer bits is that of the exact sum."""
    total = a + b
    back = total - a
    rest = (a - (total - back)) + (b - back)
    even = (total.view(np.int64) & 1) == 0
    outwards = np.where(total >= 0, np.inf, -np.inf)
    inwards = np.where(total >= 0, 0.0, -0.0)
    grows = np.sign(rest) == np.sign(total)
    odd = np.nextafter(total, np.where(grows, outwards, inwards))
    return np.where((rest != 0) & even, odd, total)


def accumulate(left: Raw, right: Raw, bias: Raw | None, kind: str) -> Raw:
    """The accumulators of one place: left (..., M, k, tile), right (..., N, k, tile), bias (N,) the first addend.

    Numbers in single precision, or raw doubles.
    """
    if kind == "d":
        return doubleproduct.accumulate(left, right, bias)
    acc: F32 | None = None
    rows, columns = left.shape[-3], right.shape[-3]
    if bias is not None:
        acc = np.broadcast_to(bias, (rows, columns)).astype(np.float32)
    a, b = block(left, kind), block(right, kind)
    for k in range(left.shape[-2]):
        acc = multiply(
            (a[0][..., :, k, :], a[1][..., :, k]), (b[0][..., :, k, :], b[1][..., :, k]), acc, kind
        )
    assert acc is not None
    return acc


def add_parts(parts: Raw, kind: str) -> Raw:
    """One reduction circuit over axis 0 on raw elements."""
    if kind == "h":
        return halfmath.add_halves(parts)
    if kind == "d":
        return doublemath.circuit(parts)
    return halfmath.round_single(halfmath.reduce_single(parts.view(np.float32))).view(np.uint32)


def add_mabs(parts: Raw, kind: str) -> Raw:
    """`l1bmrffaddr` (half), `l1bmrffadd` (single) or `l1bmrdfadd` (double) over axis 0, the sixteen MABs."""
    if kind == "h":
        return halfmath.reduce_mabs(parts)
    if kind == "d":
        return doubleproduct.add_mabs(parts)
    first = np.stack([halfmath.round_single(halfmath.reduce_single(parts[4 * h : 4 * h + 4])) for h in range(4)])
    return halfmath.round_single(halfmath.reduce_single(first)).view(np.uint32)


def narrow(acc: Raw, kind: str) -> Raw:
    """An accumulator as an element: halves are rounded once more."""
    return halfmath.float_to_half(acc) if kind == "h" else acc if kind == "d" else acc.view(np.uint32)
