"""The half matrix product on decoded operands: 16-bit fields, 32-bit sums, rounding in float32 (numerics.md 6).

A plane is decoded once and used until it is written again.  A decoded plane (`DECODED_WORDS` uint64): signed fields
int16 [8 pairs of rows][4 PEs][2 halves of the MABs][2 halves of a long word][8 MABs][odd row, even row][2 fields], then
row exponents int32 [2 LW][4 PEs][16 MABs][2] in the order of the result
words (row 4p + 2lw + 1 before row 4p + 2lw).  Exponents of dead blocks (field 0) are far below, of infinite ones far
above all others, so that the sum of both exponents tells dead from infinite from ordinary products.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from hw.formats.multiply_add import MATRIX
from hw.kernels.abi import Kernel, Kind
from hw.kernels.fast_float import INFINITY, SIGN, aligned, exponent
from hw.kernels.fast_ir import F32, I16, I32, I64, OUT, ROW_BYTES, Build, Code, RowKernel, Vec, row_body, row_kernel
from hw.kernels.mau_matrix import MAU_MATRIX
from hw.kernels.mixed import ERROR_SLOT

_RULE = MATRIX["h"]
_EXPONENTS = 0x7E00
DEAD, INFINITE = -1 << 14, 1 << 12
_EXPONENTS_AT = 16 * ROW_BYTES
_BIAS = 65 - (_RULE.unit - 23)  # makes e minus the addend's exponent the number of bits that `aligned` cuts
DECODED_WORDS = (_EXPONENTS_AT + 2 * 4 * 32 * 4) // 8
_VECTOR = 64  # bytes
_LOW, _HIGH = range(0, 16, 2), range(1, 16, 2)


def _unlike(x: Vec, first: Vec) -> Vec:
    """Bits that differ between the exponents of 8 long words and those of the block's first ones, or inside them."""
    e = x & _EXPONENTS
    words = e.bits(I64)
    rotated = words << 16 | words >> 48
    return (words ^ rotated) | (words ^ (first & _EXPONENTS).bits(I64))


def _fields(x: Vec) -> Vec:
    """Sign and mantissa field of halves as int16."""
    sign = x.ashr(15)
    return ((x & 511) ^ sign) - sign


def _exponent(first: Vec) -> Vec:
    """Exponents (int32) of eight blocks from their first long words (32 halves), dead and infinite ones moved away."""
    e = (first.bits(I64) >> 9 & 63).cast("trunc", I32)
    e = e.compare("==", 63).select(e + INFINITE, e)
    return e.compare("==", 0).select(e + DEAD, e)


def _decode_row(code: Code, source: Any) -> tuple[Vec, list[Vec], list[list[Vec]]]:
    """One row ([4][16] long words): (differing exponent bits, exponents and, by PE, fields of MABs 0..7 and 8..15)."""
    mixed, exponents, fields = code.vector(I64, 8, 0), [], []
    for half in range(2):
        first = code.load(source, half * _VECTOR, I16, 32)
        exponents.append(_exponent(first))
        found = []
        for p in range(4):
            x = code.load(source, p * 128 + half * _VECTOR, I16, 32)
            mixed = mixed | _unlike(x, first)
            found.append(_fields(x))
        fields.append(found)
    return mixed, exponents, fields


def refuse(code: Code, args: Sequence[Any], refused: Any) -> None:
    """par[7] = 1 when `refused` (i1)."""
    slot = code.builder.gep(args[6], [code.int64(ERROR_SLOT)])
    code.builder.store(code.builder.zext(refused, I64), slot)


def _decode(code: Code, args: Sequence[Any]) -> None:
    """Source row 0.0: the plane; result row 0.0: the decoded plane.  par[7] = 1 when a block has mixed exponents."""
    source, target = code.row(0, 0, 0), code.row(OUT, 0, 0)
    add = code.builder.add
    mixed = code.vector(I64, 8, 0)
    for row in range(0, 16, 2):
        bits, even_exponents, even = _decode_row(code, add(source, code.int64(row * ROW_BYTES)))
        odd_bits, odd_exponents, odd = _decode_row(code, add(source, code.int64((row + 1) * ROW_BYTES)))
        mixed = mixed | bits | odd_bits
        for p, half, q in product(range(4), range(2), range(2)):
            order = [k for m in range(8) for k in (2 * m + q, 16 + 2 * m + q)]
            both = odd[half][p].bits(I32).lanes(order, even[half][p].bits(I32))
            code.store(both, target, row * ROW_BYTES + p * 256 + half * 128 + q * _VECTOR)
        place = _EXPONENTS_AT + (row // 2 % 2) * ROW_BYTES + row // 4 * 128
        for half in range(2):
            order = [k for m in range(8) for k in (8 + m, m)]
            code.store(even_exponents[half].lanes(order, odd_exponents[half]), target, place + half * _VECTOR)
    refuse(code, args, mixed.nonzero())


def _add_products(total: Vec, a: Vec, x: Vec) -> Vec:
    """`total` and the sums of neighbouring products of int16 in int32 lanes; factors are below 2**9: no overflow."""
    code = total.code
    if code.has_feature("avx512vnni"):
        return code.call("llvm.x86.avx512.vpdpwssd.512", total.type, total, a, x)
    a, x = a.bits(I16), x.bits(I16)
    if code.has_feature("avx512bw"):
        return total + code.call("llvm.x86.avx512.pmaddw.d.512", total.type, a, x)
    even, odd = range(0, 32, 2), range(1, 32, 2)
    low = a.lanes(even).cast("sext", I32) * x.lanes(even).cast("sext", I32)
    return total + low + a.lanes(odd).cast("sext", I32) * x.lanes(odd).cast("sext", I32)


def _finish(total: Vec, e: Vec, z: Vec | None) -> Vec:
    """Rounded sum of products and addend as single patterns; `e` is the sum of both exponent fields plus `_BIAS`.

    |total| < 2**22, so the scaled sum and the aligned addend are singles, and one float32 addition rounds their sum.
    It is never below 2**-126: sums of products are multiples of 2**-78, and addends that small only meet sums of 0.
    """
    scaled = total.cast("sitofp", F32) * ((e << 23) + (49 - _BIAS << 23)).bits(F32)
    if z is None:
        result = e.compare(">", _BIAS).select(scaled, 0.0).bits(I32)
    else:
        field = exponent(z)
        distance = (e - field).plus(65 - _BIAS)
        products = distance.compare(">", -_RULE.drop_product).select(scaled, 0.0)
        w = aligned(z, field, distance, _RULE)
        result = (products + w.bits(F32)).bits(I32)
        result = field.compare("==", 255).select(z & SIGN | INFINITY, result)
    return e.compare("<", INFINITE + _BIAS).select(result, INFINITY)


def _product(addend: bool) -> Build:
    """Sources: x (LW0) and, with `addend`, y (both long words); result: both long words; mat: the decoded plane.

    x is read before anything is written and y element by element, so the result may lie exactly on the rows of y and
    anywhere on x.  par[7] = 1 and nothing else happens when a block of x has mixed exponents.
    """

    def build(code: Code, args: Sequence[Any]) -> None:
        builder = code.builder
        fields = code.stack(4 * ROW_BYTES)
        exponents = code.stack(4 * 128)
        mixed = code.vector(I64, 8, 0)
        for c in range(4):
            bits, found, halves = _decode_row(code, code.row(0, 0, c))
            mixed = mixed | bits
            for half in range(2):
                twice = found[half].lanes([m for m in range(8) for _ in range(2)])
                code.store(twice + _BIAS, exponents, c * 128 + half * _VECTOR)
                for p, x in enumerate(halves[half]):
                    code.store(x, fields, c * ROW_BYTES + p * 128 + half * _VECTOR)
        refused = mixed.nonzero()
        refuse(code, args, refused)
        with builder.if_then(builder.not_(refused)):
            plane = builder.ptrtoint(args[5], I64)
            with code.loop(4) as cycle, code.loop(2) as half:
                at = builder.mul(half.index, code.int64(_VECTOR))
                first = builder.add(builder.add(fields, at), builder.mul(cycle.index, code.int64(ROW_BYTES)))
                words = [code.load(first, p * 128, I32, 16) for p in range(4)]
                vectors = [x.lanes([2 * m + q for m in range(8) for _ in range(2)]) for x in words for q in range(2)]
                first = builder.add(builder.add(exponents, at), builder.mul(cycle.index, code.int64(128)))
                own = code.load(first, 0, I32, 16)
                with code.loop(4) as pe:
                    for lw in range(2):
                        _unit(code, plane, vectors, own, (cycle.index, at, pe.index, lw), addend)

    return build


def _unit(code: Code, plane: Any, vectors: list[Vec], own: Vec, place: tuple[Any, Any, Any, int], addend: bool) -> None:
    """Results of one long word of one PE of eight MABs; place = (cycle, bytes to the half of the MABs, PE, long word).

    vectors, own: fields by PE and half of the long word, each for both rows of a MAB, and exponents of the cycle; they
    stay in registers.
    """
    builder, (cycle, at, pe, lw) = code.builder, place
    matrix = builder.add(plane, builder.mul(at, code.int64(2)))
    matrix = builder.add(matrix, builder.mul(pe, code.int64(4 * ROW_BYTES)))
    lanes = builder.add(builder.mul(pe, code.int64(128)), at)
    total = code.vector(I32, 16, 0)
    for k, vector in enumerate(vectors):
        offset = lw * 2 * ROW_BYTES + k // 2 * 256 + k % 2 * _VECTOR
        total = _add_products(total, vector, code.load(matrix, offset, I32, 16))
    e = code.load(builder.add(plane, lanes), _EXPONENTS_AT + lw * ROW_BYTES, I32, 16) + own
    z = code.load(code.row(1, lw, cycle), lanes, I32, 16) if addend else None
    code.store(_finish(total, e, z), code.row(OUT, lw, cycle), lanes)


def decoder_reference(*args: Any) -> None:
    """Decoders have no meaning of their own in the reference."""


DECODE_HALF = Kernel("fast.decode.h", Kind.LANES, row_body(_decode), decoder_reference)


def _kernel(op: str) -> tuple[Kernel, RowKernel]:
    addend = op == "mfma"
    long_words = (1, 2) if addend else (1,)
    build = _product(addend)
    return row_kernel(MAU_MATRIX[op, "h", False, ""], build, long_words, frozenset((0,)), DECODE_HALF)


FAST_HALF_MATRIX: dict[Kernel, RowKernel] = dict((_kernel("mfma"), _kernel("mmul")))
