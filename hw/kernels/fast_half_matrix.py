"""The half matrix product on decoded operands: 16-bit fields, 32-bit sums, rounding in float32 (numerics.md 6).

A plane is decoded once and used until it is written again.  A decoded plane (`DECODED_WORDS` uint64): signed fields
int16 [16 rows][4 PEs][16 MABs][4 halves], then row exponents int32 [2 LW][4 PEs][16 MABs][2] in the order of the result
words (row 4p + 2lw + 1 before row 4p + 2lw).  Exponents of dead blocks (field 0) are far below, of infinite ones far
above all others, so that the sum of both exponents tells dead from infinite from ordinary products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

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


def _decode_row(code: Code, source: Any, target: Any) -> tuple[Vec, list[Vec]]:
    """Decode one row ([4][16] long words): (differing exponent bits, exponents of MABs 0..7 and 8..15)."""
    mixed, exponents = code.vector(I64, 8, 0), []
    for half in range(2):
        first = code.load(source, half * _VECTOR, I16, 32)
        exponents.append(_exponent(first))
        for p in range(4):
            x = code.load(source, p * 128 + half * _VECTOR, I16, 32)
            mixed = mixed | _unlike(x, first)
            code.store(_fields(x), target, p * 128 + half * _VECTOR)
    return mixed, exponents


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
        pair = []
        for k in range(2):
            at = code.int64((row + k) * ROW_BYTES)
            bits, exponents = _decode_row(code, add(source, at), add(target, at))
            mixed = mixed | bits
            pair.append(exponents)
        place = _EXPONENTS_AT + (row // 2 % 2) * ROW_BYTES + row // 4 * 128
        for half in range(2):
            order = [k for m in range(8) for k in (8 + m, m)]
            code.store(pair[0][half].lanes(order, pair[1][half]), target, place + half * _VECTOR)
    refuse(code, args, mixed.compare("!=", 0).any())


def _pair_sums(even_row: Vec, odd_row: Vec) -> Vec:
    """Two int32 per MAB of two rows -> their sums, odd row before even row, MAB by MAB."""
    low = [k for m in range(8) for k in (16 + 2 * m, 2 * m)]
    high = [k for m in range(8) for k in (17 + 2 * m, 1 + 2 * m)]
    return even_row.lanes(low, odd_row) + even_row.lanes(high, odd_row)


def _products(a: Vec, x: Vec) -> Vec:
    """Sums of neighbouring products of 32 int16; factors are below 2**9, so nothing overflows."""
    name = "llvm.x86.avx512.pmaddw.d.512"
    if a.code.has_feature("avx512bw"):
        return a.code.call(name, ir.VectorType(I32, 16), a, x)
    even, odd = range(0, 32, 2), range(1, 32, 2)
    low = a.lanes(even).cast("sext", I32) * x.lanes(even).cast("sext", I32)
    return low + a.lanes(odd).cast("sext", I32) * x.lanes(odd).cast("sext", I32)


def _finish(total: Vec, e: Vec, z: Vec | None) -> Vec:
    """Rounded sum of products and addend as single patterns; `e` is the sum of both exponent fields.

    |total| < 2**22, so the scaled sum and the aligned addend are singles, and one float32 addition rounds their sum.
    It is never below 2**-126: sums of products are multiples of 2**-78, and addends that small only meet sums of 0.
    """
    scaled = total.cast("sitofp", F32) * (e + 49 << 23).bits(F32)
    if z is None:
        result = e.compare(">", 0).select(scaled, 0.0).bits(I32)
    else:
        field = exponent(z)
        distance = e - field + 65
        product = distance.compare(">", -_RULE.drop_product).select(scaled, 0.0)
        live = e.compare("<", INFINITE)
        w = aligned(z, field, distance, _RULE)
        result = (product + w.bits(F32)).bits(I32)
        result = field.compare("==", 255).select(z & SIGN | INFINITY, result)
        return live.select(result, INFINITY)
    return e.compare("<", INFINITE).select(result, INFINITY)


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
            target = builder.add(fields, code.int64(c * ROW_BYTES))
            bits, found = _decode_row(code, code.row(0, 0, c), target)
            mixed = mixed | bits
            for half in range(2):
                twice = found[half].lanes([m for m in range(8) for _ in range(2)])
                code.store(twice, exponents, c * 128 + half * _VECTOR)
        refused = mixed.compare("!=", 0).any()
        refuse(code, args, refused)
        with builder.if_then(builder.not_(refused)):
            plane = builder.ptrtoint(args[5], I64)
            with code.loop(4) as cycle, code.loop(2) as half, code.loop(4) as pe:
                for lw in range(2):
                    _unit(code, plane, fields, exponents, (cycle.index, half.index, pe.index, lw), addend)

    return build


def _unit(code: Code, plane: Any, fields: Any, exponents: Any, place: tuple[Any, Any, Any, int], addend: bool) -> None:
    """Results of one long word of one PE of eight MABs; place = (cycle, half of the MABs, PE, long word)."""
    builder, (cycle, half, pe, lw) = code.builder, place

    def address(base: Any, *terms: tuple[Any, int]) -> Any:
        for value, scale in terms:
            base = builder.add(base, builder.mul(value, code.int64(scale)))
        return base

    matrix = address(plane, (pe, 4 * ROW_BYTES), (half, _VECTOR))
    vector = address(fields, (cycle, ROW_BYTES), (half, _VECTOR))
    lanes = address(code.int64(0), (pe, 128), (half, _VECTOR))
    sums = []
    for k in range(2):
        total = code.vector(I32, 16, 0)
        for p in range(4):
            a = code.load(matrix, (2 * lw + k) * ROW_BYTES + p * 128, I16, 32)
            total = total + _products(a, code.load(vector, p * 128, I16, 32))
        sums.append(total)
    e = code.load(builder.add(plane, lanes), _EXPONENTS_AT + lw * ROW_BYTES, I32, 16)
    e = e + code.load(address(exponents, (cycle, 128), (half, _VECTOR)), 0, I32, 16)
    z = code.load(code.row(1, lw, cycle), lanes, I32, 16) if addend else None
    code.store(_finish(_pair_sums(*sums), e, z), code.row(OUT, lw, cycle), lanes)


def decoder_reference(*args: Any) -> None:
    """Decoders have no meaning of their own in the reference."""


DECODE_HALF = Kernel("fast.decode.h", Kind.LANES, row_body(_decode), decoder_reference)


def _kernel(op: str) -> tuple[Kernel, RowKernel]:
    addend = op == "mfma"
    long_words = (1, 2) if addend else (1,)
    build = _product(addend)
    return row_kernel(MAU_MATRIX[op, "h", False, ""], build, long_words, frozenset((0,)), DECODE_HALF)


FAST_HALF_MATRIX: dict[Kernel, RowKernel] = dict((_kernel("mfma"), _kernel("mmul")))
