"""Fast row kernels of the block-float conversions (numerics.md 5).

Every cycle and long word stands for itself: eight MABs (four vectors, one per PE) are read, then written, so the result
may lie exactly on the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from llvmlite import ir

from hw.formats.descriptor import BLOCKS
from hw.kernels.abi import Kernel
from hw.kernels.bfn import BFN
from hw.kernels.fast_ir import I64, OUT, ROW_BYTES, Build, Code, RowKernel, Vec, row_kernel

_VECTOR = 64  # bytes


def _over_block(values: Sequence[Vec], joint: int, bits: int, combine: Any) -> Vec:
    """Combine the elements of a block: the four PEs, then the `joint` neighbouring elements of each long word."""
    result: Vec = reduce(combine, values)
    distance = 1
    while distance < joint:
        words = result.bits(I64)
        turned = (words << bits * distance | words >> 64 - bits * distance).bits(result.element)
        result = combine(result, turned)
        distance *= 2
    return result


def _convert(xs: Sequence[Vec], prec: str, length: int, extended: bool) -> list[Vec]:
    """Converted elements of eight MABs, `xs` by PE; the names are those of `hw.kernels.bfn`.

    Shifts beyond the lane are cut to its last bit: significand and rounding bits stay below it, so the result is 0.
    """
    fmt = BLOCKS[prec].element
    significant = length if prec == "h" else BLOCKS[prec].field_bits
    unread = fmt.mantissa_bits - significant
    margin = unread if prec == "h" else 0
    low = 5 if prec == "g" else 0
    joint = {"h": 4, "g": 2}.get(prec, 1)
    exponents = [x >> fmt.mantissa_bits & fmt.all_ones for x in xs]
    mantissas = [x & (1 << fmt.mantissa_bits) - 1 for x in xs]
    largest = _over_block(exponents, joint, fmt.bits, lambda a, b: a.max(b))
    full = [(m >> unread).compare("==", (1 << significant) - 1) for m in mantissas]
    one = xs[0].constant(1)
    bumps = [(f & e.compare("==", largest)).select(one, 0) for f, e in zip(full, exponents, strict=True)]
    shared = largest + _over_block(bumps, joint, fmt.bits, lambda a, b: a | b) + margin
    results = []
    for x, e, m, f in zip(xs, exponents, mantissas, full, strict=True):
        significand, distance = m | 1 << fmt.mantissa_bits, shared - e
        shift = distance + (1 + low)
        flagged = distance.compare(">", 6 + margin) | distance.compare("==", 6 + margin) & f.compare("==", 0)
        if extended:
            shift = flagged.select(distance - 5, shift)
        shift = shift.min(fmt.bits - 1)
        q = (significand + (one << shift - 1) - 1 + (significand >> shift & 1)) >> shift
        q = e.compare("==", 0).select(one ^ one, q << low)
        exponent = shared
        if extended:
            exponent = (flagged | q.compare("==", 0)).select(one ^ one, shared)
        normal = exponent << fmt.mantissa_bits | q
        normal = shared.compare(">=", fmt.all_ones).select(one.constant(fmt.all_ones << fmt.mantissa_bits), normal)
        results.append(largest.compare("==", 0).select(one ^ one, normal) | x & fmt.sign_bit)
    return results


def _build(prec: str, length: int, extended: bool) -> Build:
    bits = BLOCKS[prec].element.bits
    lane, count, long_words = ir.IntType(bits), 512 // bits, 2 if prec == "h" else 1

    def build(code: Code, args: Sequence[Any]) -> None:
        with code.loop(4 * long_words) as row, code.loop(2) as half:
            source, target = code.row(0, 0, row.index), code.row(OUT, 0, row.index)
            at = code.builder.mul(half.index, code.int64(_VECTOR))
            places = [code.builder.add(at, code.int64(p * 128)) for p in range(4)]
            values = [code.load(source, place, lane, count) for place in places]
            for place, result in zip(places, _convert(values, prec, length, extended), strict=True):
                code.store(result, target, place)
        if long_words == 1:
            with code.loop(4) as row:
                for at in range(0, ROW_BYTES, _VECTOR):
                    code.store(code.vector(I64, 8, 0), code.row(OUT, 1, row.index), at)

    return build


FAST_BFN: dict[Kernel, RowKernel] = dict(
    row_kernel(general, _build(*key), (2 if key[0] == "h" else 1,)) for key, general in BFN.items()
)
