"""Plain NumPy model of the arithmetic that half-precision layers use on the chip (numerics.md 4.2, 5.2, 6.1).

Written from the rules and not from the kernels, on whole arrays: it is what tests hold the simulated chip against,
bit for bit.  Finite values only (the layers never make infinities from finite inputs of ordinary size); an overflow
is an error here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

U16 = NDArray[np.uint16]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


def rne_shift(value: I64, shift: I64) -> I64:
    """value / 2**shift rounded to nearest even; value >= 0, shift >= 0."""
    shift = np.minimum(shift, 40)
    floor = value >> shift
    rest = value - (floor << shift)
    half = np.where(shift > 0, np.int64(1) << np.maximum(shift - 1, 0), 0)
    up = (rest > half) | ((rest == half) & (shift > 0) & ((floor & 1) == 1))
    return floor + up


def half_to_float(bits: U16) -> F32:
    """Value of half patterns (exponent field 0 = zero, 63 = infinity); float32, same shape."""
    wide = bits.astype(np.uint32)
    sign, exponent, mantissa = wide >> 15, (wide >> 9) & 63, wide & 511
    magnitude = np.where(exponent == 63, 255 << 23, ((exponent + 96) << 23) | (mantissa << 14))
    single = (sign << 31) | np.where(exponent == 0, 0, magnitude)
    return single.astype(np.uint32).view(np.float32)


def float_to_half(values: F32) -> U16:
    """Value narrowing of numerics.md 8: one RNE, underflow and zero give +0, overflow infinity."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.int64)
    sign, exponent, mantissa = bits >> 31, (bits >> 23) & 255, bits & 0x7FFFFF
    rounded = rne_shift((exponent << 23) | mantissa, np.full_like(bits, 14))
    field = (rounded >> 9) - 96
    result = (sign << 15) | (field << 9) | (rounded & 511)
    result = np.where(field >= 63, (sign << 15) | (63 << 9), result)
    return np.where((exponent == 0) | (field <= 0), 0, result).astype(np.uint16)


def block_float(bits: U16) -> tuple[I64, I64]:
    """`hbfn/9` along the last axis (16 halves): signed integer fields, same shape, and the shared exponent field
    per block.
    """
    wide = bits.astype(np.int64)
    sign, exponent, mantissa = wide >> 15, (wide >> 9) & 63, wide & 511
    top = exponent.max(axis=-1, keepdims=True)
    bump = ((exponent == top) & (mantissa == 511)).any(axis=-1, keepdims=True)
    shared = top + bump
    if (shared >= 63).any():
        raise OverflowError("block exponent reaches infinity")
    field = rne_shift(512 + mantissa, shared - exponent + 1)
    field = np.where((exponent == 0) | (top == 0), 0, field)
    return np.where(sign == 1, -field, field), np.where(top == 0, 0, shared)[..., 0]


def round_single(values: NDArray[np.float64]) -> F32:
    """RNE of exact float64 values to single, with an unbounded exponent; then denormals become +0, zeros positive."""
    small = np.abs(values) < 2.0**-100
    single = np.where(small, values * 2.0**100, values).astype(np.float32)
    tiny = small & (np.abs(single) < np.float32(2.0**-26))
    single = np.where(small, single * np.float32(2.0**-100), single)
    return np.where(tiny, np.float32(0), single).astype(np.float32)


def matvec(
    weight: tuple[I64, I64], vector: tuple[I64, I64], addend: F32 | None, shape: tuple[int, ...] | None = None
) -> F32:
    """One `hmfma` (or `hmmul`): out = round(sum_j a_j x_j + y), numerics.md 6.1.

    weight, vector: fields (..., 16) and exponents (...), broadcast against each other; addend: (...) or None.
    """
    fields = (weight[0] * vector[0]).sum(axis=-1)
    ep = weight[1] + vector[1] - 62
    zero = (weight[1] == 0) | (vector[1] == 0)
    product = np.where(zero, 0.0, fields * np.exp2((ep - 16).astype(np.float64)))
    if addend is None:
        return round_single(product)
    wide = addend.astype(np.float64)
    _, exponent = np.frexp(wide)
    distance = ep - (exponent - 1)
    unit = np.exp2((ep - 26).astype(np.float64))
    steps = np.floor(np.abs(wide) / unit)
    steps = np.where((steps * unit != np.abs(wide)) & (steps % 2 == 0), steps + 1, steps)
    aligned = np.where(distance >= 28, 0.0, np.sign(wide) * steps * unit)
    product = np.where(-distance >= 30, 0.0, product)
    plain = zero | (wide == 0)
    total = np.where(plain, product + wide, product + aligned)
    return round_single(total)


def reduce_single(parts: F32) -> NDArray[np.float64]:
    """One RRN circuit over axis 0 before its rounding (numerics.md 4.2); exact in float64."""
    bits = np.ascontiguousarray(parts, dtype=np.float32).view(np.uint32).astype(np.int64)
    sign, exponent, mantissa = bits >> 31, (bits >> 23) & 255, bits & 0x7FFFFF
    top = exponent.max(axis=0, keepdims=True)
    shifted = rne_shift(((1 << 23) + mantissa) << 3, top - exponent)
    signed = np.where(exponent == 0, 0, np.where(sign == 1, -shifted, shifted)).sum(axis=0)
    return signed * np.exp2((top[0] - 127 - 26).astype(np.float64))


def reduce_mabs(parts: F32) -> U16:
    """`l1bmrffaddr`: (16, ...) singles of the MABs -> half, two stages, the last rounded straight to half."""
    first = round_single(np.stack([reduce_single(parts[4 * h : 4 * h + 4]) for h in range(4)]))
    exact = reduce_single(first)
    return _exact_to_half(exact)


def _exact_to_half(values: NDArray[np.float64]) -> U16:
    mantissa, exponent = np.frexp(np.abs(values))
    scaled = np.rint(mantissa * 1024.0).astype(np.int64)
    carry = scaled == 1024
    scaled, exponent = np.where(carry, 512, scaled), exponent + carry
    field = exponent - 1 + 31
    sign = (values < 0).astype(np.int64)
    if (field >= 63).any():
        raise OverflowError("sum exceeds the half range")
    bits = (sign << 15) | (field << 9) | (scaled - 512)
    return np.where((values == 0) | (field <= 0), 0, bits).astype(np.uint16)


def gemm(x: U16, weight: U16, bias: F32 | None, places: Sequence[int] = range(16)) -> U16:
    """y[M, N] = x[M, K] . weight[N, K]^T + bias as the Gemm layer computes it; all halves, bias single.

    K is in 16 parts of k_tiles tiles of 16, one to a MAB: places[part] is its number.  The bias is the first addend of
    MAB 0, which holds part 0.
    """
    rows, depth = x.shape
    outputs = weight.shape[0]
    k_tiles = max(1, -(-depth // 256))
    padded = k_tiles * 256
    xb = block_float(np.pad(x, ((0, 0), (0, padded - depth))).reshape(rows, 16, k_tiles, 16))
    wb = block_float(np.pad(weight, ((0, 0), (0, padded - depth))).reshape(outputs, 16, k_tiles, 16))
    parts = np.zeros((16, rows, outputs), np.float32)
    for mab in range(16):
        acc: F32 | None = None
        if bias is not None:
            start = bias if mab == 0 else np.zeros_like(bias)
            acc = np.broadcast_to(start, (rows, outputs)).astype(np.float32)
        for k in range(k_tiles):
            a = (wb[0][None, :, mab, k], wb[1][None, :, mab, k])
            v = (xb[0][:, None, mab, k], xb[1][:, None, mab, k])
            acc = matvec(a, v, acc)
        assert acc is not None
        parts[places[mab]] = acc
    return reduce_mabs(parts)


def gemm_split_k(x: U16, weight: U16, bias: F32 | None, split: tuple[int, int, int]) -> U16:
    """The product whose K is split over banks or groups, then MABs, then tiles, as `split` counts them; the sums of
    the first are added last.

    The bias is the first addend of MAB 0 of the first bank or group.
    """
    parts_of_k, mabs, tiles = split
    rows, depth = x.shape
    outputs = weight.shape[0]
    padded = parts_of_k * mabs * tiles * 16
    xb = block_float(np.pad(x, ((0, 0), (0, padded - depth))).reshape(rows, parts_of_k, mabs, tiles, 16))
    wb = block_float(np.pad(weight, ((0, 0), (0, padded - depth))).reshape(outputs, parts_of_k, mabs, tiles, 16))
    sums = []
    for part in range(parts_of_k):
        parts = np.zeros((16, rows, outputs), np.float32)
        for mab in range(16):
            acc: F32 | None = None
            if bias is not None:
                start = bias if part == 0 and mab == 0 else np.zeros_like(bias)
                acc = np.broadcast_to(start, (rows, outputs)).astype(np.float32)
            for k in range(tiles if mab < mabs else 0):
                a = (wb[0][None, :, part, mab, k], wb[1][None, :, part, mab, k])
                v = (xb[0][:, None, part, mab, k], xb[1][:, None, part, mab, k])
                acc = matvec(a, v, acc)
            if acc is not None:
                parts[mab] = acc
        sums.append(reduce_mabs(parts))
    return add_halves(np.stack(sums))


def add_halves(parts: U16) -> U16:
    """One native half circuit of `fadd` over axis 0 (numerics.md 4.2 with M = 9)."""
    wide = parts.astype(np.int64)
    sign, exponent, mantissa = wide >> 15, (wide >> 9) & 63, wide & 511
    top = exponent.max(axis=0, keepdims=True)
    shifted = rne_shift((512 + mantissa) << 3, top - exponent)
    total = np.where(exponent == 0, 0, np.where(sign == 1, -shifted, shifted)).sum(axis=0)
    return _exact_to_half(total * np.exp2((top[0] - 31 - 12).astype(np.float64)))
