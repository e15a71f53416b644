"""Fast row kernels of the MAU vector operations on singles and halves: `FAST_VECTOR[kernel of MAU_VECTOR]`.

Elementwise: the result may lie exactly on a source row; any other overlap of result and sources is not allowed.
Results fill LW0 (f) or both long words (h); LW1 of f results becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from hw.formats.multiply_add import VECTOR
from hw.kernels.abi import Kernel
from hw.kernels.fast_float import (
    INFINITY,
    SIGN,
    aligned,
    doubles,
    exponent,
    infinite_sum,
    joined,
    round_odd,
    round_single,
)
from hw.kernels.fast_ir import F32, I32, I64, OUT, ROW_BYTES, Build, Code, RowKernel, Vec, row_kernel
from hw.kernels.mau_vector import MAU_VECTOR

_RULE_F, _RULE_H = VECTOR["f"], VECTOR["h"]
_EXPONENT_OF_DOUBLE = 0xFFF0000000000000
_BYTES = 64  # of a vector
_OVERFLOWS = 2 * 127 + 168  # sum of exponent fields

Element = Callable[[Vec, Vec, Vec], Vec]


def _product(a: Vec, b: Vec, a_high: Vec, b_high: Vec) -> Vec:
    """a * b without the products of the low 5 bits, plus the stand-in 2**8 in units of the last bits; all exact.

    `a_high`, `b_high`: the factors with their low 5 bits cleared.  2**8 units are 2**-38 of the product of the powers
    of two of both factors.
    """
    omitted = (a - a_high) * (b - b_high)
    product = a * b - omitted
    unit = (a.bits(I64) & _EXPONENT_OF_DOUBLE).bits(a.type.element) * (
        (b.bits(I64) & _EXPONENT_OF_DOUBLE).bits(a.type.element) * 2.0**-38
    )
    return product + omitted.compare("!=", 0.0).select(unit, 0.0)


def _single_product(x: Vec, y: Vec) -> tuple[Vec, Vec]:
    """Products of 16 singles as two vectors of doubles; exponent fields 0 and 255 give anything."""
    pairs = zip(doubles(x), doubles(y), doubles(x & ~31), doubles(y & ~31), strict=True)
    low, high = (_product(*four) for four in pairs)
    return low, high


def _only(mask: Vec, x: tuple[Vec, Vec]) -> tuple[Vec, Vec]:
    """Doubles where the mask of 16 lanes is set, else +0."""
    return mask.lanes(range(8)).select(x[0], 0.0), mask.lanes(range(8, 16)).select(x[1], 0.0)


def _sum(p: tuple[Vec, Vec], z: Vec, field: Vec, aligned_addend: Callable[[], Vec]) -> Vec:
    """Rounded sums of products (doubles) and addends z (single patterns of exponent `field`).

    Usually p + z in float64, rounded to single.  That can differ from the rule (addend aligned, sum rounded to odd)
    only near a tie of singles: the addend is only cut when it is 19 or more binary orders below the product, so the
    sum has at least the product's exponent ep less 1; then cutting or dropping changes it by less than 2**(ep - 41),
    at most 2**12 units of the double, and the first rounding by half a unit.  A tie has the low 29 bits 2**28.
    Vectors with a sum within 2**13 units of one follow the rule to the letter.  The limit below which results become
    0 is a tie, too.
    """
    code = z.code
    addends = doubles(field.compare("!=", 0).select(z, 0))
    sums = [(a + b).bits(I64) for a, b in zip(p, addends, strict=True)]
    near = [((s & (1 << 29) - 1) - ((1 << 28) - (1 << 13))).below(1 << 14) for s in sums]

    def exact() -> Vec:
        low, high = (round_single(round_odd(a, b)) for a, b in zip(p, doubles(aligned_addend()), strict=True))
        return joined(low, high).bits(I32)

    def quick() -> Vec:
        return joined(round_single(sums[0]), round_single(sums[1])).bits(I32)

    return code.branch((near[0] | near[1]).any(), exact, quick)


def _fma_f(x: Vec, y: Vec, z: Vec) -> Vec:
    fx, fy, fz = exponent(x), exponent(y), exponent(z)
    dead = fx.compare("==", 0) | fy.compare("==", 0)
    infinite = (fx.compare("==", 255) | fy.compare("==", 255)) & dead.compare("==", 0)
    distance = (dead | infinite).select(fx - fx, fx + fy - fz - 127)
    keep = fz.compare("==", 0) | distance.compare(">", -_RULE_F.drop_product)
    p = _only(keep & dead.compare("==", 0), _single_product(x, y))

    def addend() -> Vec:
        # The sticky unit of an addend of exponent 254 may be 2**128, no single.  Then the product is at least 2**168,
        # so the result is infinite with or without addend.
        return (fx + fy).compare("<", _OVERFLOWS).select(aligned(z, fz, distance, _RULE_F), 0)

    result = _sum(p, z, fz, addend)
    return infinite_sum(result, infinite, (x ^ y) & SIGN, z, fz.compare("==", 255))


def _mul_f(x: Vec, y: Vec, z: Vec) -> Vec:
    fx, fy = exponent(x), exponent(y)
    dead = fx.compare("==", 0) | fy.compare("==", 0)
    infinite = (fx.compare("==", 255) | fy.compare("==", 255)) & dead.compare("==", 0)
    low, high = (round_single(p.bits(I64)) for p in _only(dead.compare("==", 0), _single_product(x, y)))
    return infinite.select((x ^ y) & SIGN | INFINITY, joined(low, high).bits(I32))


def _add_f(x: Vec, y: Vec, z: Vec) -> Vec:
    """x is the product, y the addend."""
    fx, fy = exponent(x), exponent(y)
    dead, infinite = fx.compare("==", 0), fx.compare("==", 255)
    distance = (dead | infinite).select(fx - fx, fx - fy)
    keep = fy.compare("==", 0) | distance.compare(">", -_RULE_F.drop_product)
    p = _only(keep & dead.compare("==", 0), doubles(x))
    result = _sum(p, y, fy, lambda: aligned(y, fy, distance, _RULE_F))
    return infinite_sum(result, infinite, x & SIGN, y, fy.compare("==", 255))


def _half_value(x: Vec) -> tuple[Vec, Vec]:
    """16 halves in the low bits of 32 -> (single patterns, exponent fields); fields 0 and 63 give anything."""
    return (x & 0x8000) << 16 | ((x & 0x7FFF) << 14) + (96 << 23), x >> 9 & 63


def _finish_h(p: Vec, dead: Vec, infinite: Vec, p_sign: Vec, ep: Vec, z: Vec) -> Vec:
    """p + z with one rounding, by a float32 addition: both are exact singles.

    The result is never below 2**-126: products are multiples of 2**-78, so a sum that is not 0 and not the addend alone
    is at least 2**-101.  `ep` is the product exponent + 127.
    """
    fz = exponent(z)
    distance = (dead | infinite).select(fz - fz, ep - fz)
    keep = fz.compare("==", 0) | distance.compare(">", -_RULE_H.drop_product)
    product = (keep & dead.compare("==", 0)).select(p, 0.0)
    result = (product + aligned(z, fz, distance, _RULE_H).bits(F32)).bits(I32)
    return infinite_sum(result, infinite, p_sign, z, fz.compare("==", 255))


def _fma_h(x: Vec, y: Vec, z: Vec) -> Vec:
    (a, ex), (b, ey) = _half_value(x), _half_value(y)
    dead = ex.compare("==", 0) | ey.compare("==", 0)
    infinite = (ex.compare("==", 63) | ey.compare("==", 63)) & dead.compare("==", 0)
    return _finish_h(a.bits(F32) * b.bits(F32), dead, infinite, (a ^ b) & SIGN, ex + ey + 65, z)


def _mul_h(x: Vec, y: Vec, z: Vec) -> Vec:
    (a, ex), (b, ey) = _half_value(x), _half_value(y)
    dead = ex.compare("==", 0) | ey.compare("==", 0)
    infinite = ex.compare("==", 63) | ey.compare("==", 63)
    result = infinite.select((a ^ b) & SIGN | INFINITY, (a.bits(F32) * b.bits(F32)).bits(I32))
    return dead.select(z - z, result)


def _add_h(x: Vec, y: Vec, z: Vec) -> Vec:
    """x is the product; the addend comes as z."""
    a, ex = _half_value(x)
    return _finish_h(a.bits(F32), ex.compare("==", 0), ex.compare("==", 63), a & SIGN, ex + 96, z)


def _singles(element: Element, operands: int) -> Build:
    def build(code: Code, args: Sequence[Any]) -> None:
        with code.loop(4) as cycle:
            rows = [code.row(k, 0, cycle.index) for k in range(operands)]
            out, second = code.row(OUT, 0, cycle.index), code.row(OUT, 1, cycle.index)
            with code.loop(ROW_BYTES // _BYTES) as block:
                at = code.builder.mul(block.index, code.int64(_BYTES))
                values = [code.load(row, at, I32, 16) for row in rows]
                values += values[:1] * (3 - operands)
                code.store(element(*values), out, at)
                code.store(code.vector(I32, 16, 0), second, at)

    return build


def _spread(x: Vec) -> tuple[Vec, Vec]:
    """Eight long words of four halves -> the halves that meet the singles of LW0, and those that meet LW1's."""
    shift = Vec(x.code, _alternating(x))
    high, low = x.lanes([2 * (k // 2) + 1 for k in range(16)]), x.lanes([2 * (k // 2) for k in range(16)])
    return high >> shift & 0xFFFF, low >> shift & 0xFFFF


def _alternating(x: Vec) -> Any:
    """0, 16, 0, 16, ..: the low word holds the second element of a pair."""
    return ir.Constant(x.type, [0, 16] * 8)


def _halves(element: Element, factors: int, addend: int | None) -> Build:
    """Four halves of LW0 of `factors` sources, singles of both long words of source `addend`."""

    def build(code: Code, args: Sequence[Any]) -> None:
        with code.loop(4) as cycle:
            rows = [code.row(k, 0, cycle.index) for k in range(factors)]
            outs = [code.row(OUT, lw, cycle.index) for lw in range(2)]
            singles = [code.row(addend, lw, cycle.index) for lw in range(2)] if addend is not None else []
            with code.loop(ROW_BYTES // _BYTES) as block:
                at = code.builder.mul(block.index, code.int64(_BYTES))
                spread = [_spread(code.load(row, at, I32, 16)) for row in rows]
                addends = [code.load(row, at, I32, 16) for row in singles]
                results = []
                for lw in range(2):
                    x, y = spread[0][lw], spread[-1][lw]
                    results.append(element(x, y, addends[lw] if addends else x))
                for lw in range(2):
                    code.store(results[lw], outs[lw], at)

    return build


def _kernel(op: str, prec: str, build: Build, *long_words: int) -> tuple[Kernel, RowKernel]:
    return row_kernel(MAU_VECTOR[op, prec, False, ""], build, long_words)


FAST_VECTOR: dict[Kernel, RowKernel] = dict(
    (
        _kernel("vfma", "f", _singles(_fma_f, 3), 1, 1, 1),
        _kernel("vmul", "f", _singles(_mul_f, 2), 1, 1),
        _kernel("vadd", "f", _singles(_add_f, 2), 1, 1),
        _kernel("vfma", "h", _halves(_fma_h, 2, 2), 1, 1, 2),
        _kernel("vmul", "h", _halves(_mul_h, 2, None), 1, 1),
        _kernel("vadd", "h", _halves(_add_h, 1, 1), 1, 2),
    )
)
