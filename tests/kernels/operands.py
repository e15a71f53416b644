"""Operand patterns for kernel tests: boundary patterns, close exponents, few-bit mantissas, near-cancellation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hw.formats.descriptor import BLOCKS, FloatFormat

Words = NDArray[np.uint64]


def pack(elements: Words, bits: int) -> Words:
    """Elements (flattened, a multiple of 64/bits) -> long words, most significant element first."""
    grouped = elements.reshape(-1, 64 // bits)
    out = np.zeros(len(grouped), np.uint64)
    for column in grouped.T:
        out = (out << np.uint64(bits % 64)) | column
    return out


def unpack(long_words: Words, bits: int) -> Words:
    """Long words -> elements [n][64/bits], most significant first."""
    shifts = np.arange(64 - bits, -1, -bits, dtype=np.uint64)
    return (long_words.reshape(-1, 1) >> shifts) & np.uint64((1 << bits) - 1)


def random_words(rng: np.random.Generator, count: int) -> Words:
    """Uniform long words."""
    return rng.integers(0, 1 << 64, count, dtype=np.uint64)


def integers(rng: np.random.Generator, bits: int, words: int) -> Words:
    """Long words of random, small, and boundary integers."""
    count = words * 64 // bits
    mask = (1 << bits) - 1
    corner = [0, 1, 2, mask, mask - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, bits, bits - 1, 2 * bits, 2 * bits - 1]
    values = random_words(rng, count) & np.uint64(mask)
    kind = rng.integers(0, 4, count)
    values = np.where(kind == 0, rng.choice(np.array(corner, np.uint64), count), values)
    values = np.where(kind == 1, values & np.uint64(3 * bits - 1), values)
    return pack(values, bits)


def mantissas(rng: np.random.Generator, m_bits: int, shape: tuple[int, ...]) -> Words:
    """Mantissa fields: uniform, few high bits, all ones (perhaps but one), one bit, high and low bits, zero."""
    one = np.uint64(1)
    uniform = rng.integers(0, 1 << m_bits, shape, dtype=np.uint64)
    few = uniform & ~((one << rng.integers(0, m_bits, shape).astype(np.uint64)) - one)
    ones = np.uint64((1 << m_bits) - 1) & ~(one << rng.integers(0, 63, shape).astype(np.uint64))
    low = one << rng.integers(0, m_bits, shape).astype(np.uint64)
    return np.choose(rng.integers(0, 6, shape), [uniform, few, ones, low, few | low, np.zeros_like(few)])


def floats(rng: np.random.Generator, fmt: FloatFormat, words: int) -> Words:
    """Long words of floats: all kinds of mantissas, exponents near 1.0, at the edges and anywhere."""
    count = words * 64 // fmt.bits
    spread = rng.choice([1, 3, 10, fmt.mantissa_bits, 3 * fmt.mantissa_bits], count)
    near = fmt.bias + np.round(rng.normal(0, 1, count) * spread).astype(np.int64)
    edge = rng.choice([0, 1, 2, fmt.all_ones - 1, fmt.all_ones], count)
    anywhere = rng.integers(0, fmt.all_ones + 1, count)
    exponent = np.choose(rng.integers(0, 5, count), [near, near, near, edge, anywhere]).clip(0, fmt.all_ones)
    mantissa = mantissas(rng, fmt.mantissa_bits, (count,))
    sign = rng.integers(0, 2, count).astype(np.uint64)
    shift = np.uint64(fmt.mantissa_bits)
    return pack((sign << np.uint64(fmt.bits - 1)) | (exponent.astype(np.uint64) << shift) | mantissa, fmt.bits)


def counterparts(rng: np.random.Generator, results: Words, fmt: FloatFormat) -> Words:
    """Addends that make sums interesting: negated results moved by a few units, or exponents at some distance."""
    x = unpack(results, fmt.bits)
    one = np.uint64(1)
    m_bits, sign_bit = np.uint64(fmt.mantissa_bits), np.uint64(fmt.sign_bit)
    moved = (x ^ sign_bit) + rng.integers(0, 4, x.shape).astype(np.uint64) - np.uint64(2)
    reach = 2 * fmt.mantissa_bits
    exponent = ((x >> m_bits) & np.uint64(fmt.all_ones)).astype(np.int64) + rng.integers(-reach, reach + 1, x.shape)
    distant = exponent.clip(0, fmt.all_ones - 1).astype(np.uint64) << m_bits
    distant |= mantissas(rng, fmt.mantissa_bits, x.shape) | np.where(
        rng.integers(0, 2, x.shape) == 0, sign_bit, one - one
    )
    chosen = np.where(rng.integers(0, 3, x.shape) == 0, distant, moved)
    mask = np.uint64((1 << fmt.bits) - 1)
    return pack(chosen & mask, fmt.bits)


def blocks(rng: np.random.Generator, prec: str, count: int, *, extended: bool = False) -> Words:
    """`count` proper blocks for each of the 16 MABs, as long words [count][4 PEs][16 MABs].

    Every word of f takes the exponent of its block, also those that do not take part.
    """
    fmt = BLOCKS[prec].element
    shape = (count, 1, 16, 1)
    exponent = np.where(
        rng.integers(0, 3, shape) > 0, fmt.bias + rng.integers(-6, 7, shape), rng.integers(0, fmt.all_ones + 1, shape)
    )
    exponent = np.where(rng.integers(0, 20, shape) == 0, rng.choice([0, fmt.all_ones], shape), exponent)
    full = (count, 4, 16, 64 // fmt.bits)
    exponents = np.broadcast_to(exponent, full).astype(np.uint64)
    if extended:
        exponents = np.where(rng.integers(0, 4, full) == 0, np.uint64(0), exponents)
    small = rng.integers(0, fmt.mantissa_bits, shape).astype(np.uint64)
    mantissa = mantissas(rng, fmt.mantissa_bits, full)
    mantissa = np.where(rng.integers(0, 3, shape) == 0, mantissa >> small, mantissa)
    sign = rng.integers(0, 2, full).astype(np.uint64)
    elements = (sign << np.uint64(fmt.bits - 1)) | (exponents << np.uint64(fmt.mantissa_bits)) | mantissa
    return pack(elements.reshape(-1), fmt.bits)
