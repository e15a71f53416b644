"""The single and pseudo-single matrix products on decoded operands, exact in float64 (numerics.md 6).

A decoded plane: fields float64 [8 rows][2][4 PEs][16 MABs], then row exponents int32 [4 PEs][16 MABs][2] in the order
of the result words (row 2p + 1 before row 2p).  The two fields of a long word are those of both words (g), or the field
of the first word and its low five bits alone (f, for the omission rule).  Exponents are moved as in
`hw.kernels.fast_half_matrix`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hw.formats.multiply_add import MATRIX
from hw.kernels.abi import Kernel, Kind
from hw.kernels.fast_float import INFINITY, MANTISSA, SIGN, aligned, doubles, exponent, joined, round_odd, round_single
from hw.kernels.fast_half_matrix import DEAD, INFINITE, decoder_reference, refuse
from hw.kernels.fast_ir import F64, I32, I64, OUT, ROW_BYTES, Build, Code, RowKernel, Vec, row_body, row_kernel
from hw.kernels.mau_matrix import MAU_MATRIX

_VECTOR = 64  # bytes
_FIELDS = 2 * ROW_BYTES  # bytes of the fields of a row
_ROW_STEP = 2 * ROW_BYTES  # a logical row lies on every second physical row
_EXPONENTS_AT = 8 * _FIELDS
_LOW, _HIGH = range(0, 16, 2), range(1, 16, 2)
_STAND_IN = 2.0**8
_TWO_TO_128, _EXPONENT = 0x47F << 52, 0x7FF << 52


def _signed(word: Vec, mask: int) -> Vec:
    """Sign and mantissa field (under a mask) of single patterns as doubles."""
    sign = word.ashr(31)
    return (((word & mask) ^ sign) - sign).cast("sitofp", F64)


def _decode_row(code: Code, prec: str, source: Any, target: Any) -> tuple[Vec, list[Vec]]:
    """Decode one row ([4][16] long words): (differing exponent bits, exponents of MABs 0..7 and 8..15)."""
    mixed, exponents = code.vector(I32, 8, 0), []
    for half in range(2):
        first = None
        for p in range(4):
            x = code.load(source, p * 128 + half * _VECTOR, I32, 16)
            high, low = x.lanes(_HIGH), x.lanes(_LOW)
            e = exponent(high)
            first = e if first is None else first
            mixed = mixed | (e ^ first)
            if prec == "g":
                mixed = mixed | (exponent(low) ^ first)
                fields = _signed(high, MANTISSA & ~31), _signed(low, MANTISSA & ~31)
            else:
                fields = _signed(high, MANTISSA), _signed(high, 31)
            for k in range(2):
                code.store(fields[k], target, k * ROW_BYTES + p * 128 + half * _VECTOR)
        assert first is not None
        moved = first.compare("==", 255).select(first + INFINITE, first)
        exponents.append(first.compare("==", 0).select(moved + DEAD, moved))
    return mixed, exponents


def _decode(prec: str) -> Build:
    """Source row 0.0: the plane; result row 0.0: the decoded plane.  par[7] = 1 when a block has mixed exponents."""

    def build(code: Code, args: Sequence[Any]) -> None:
        source, target, add = code.row(0, 0, 0), code.row(OUT, 0, 0), code.builder.add
        mixed = code.vector(I32, 8, 0)
        order = [k for m in range(8) for k in (8 + m, m)]
        for p in range(4):
            pair = []
            for row in (2 * p, 2 * p + 1):
                at = add(source, code.int64(row * _ROW_STEP))
                bits, exponents = _decode_row(code, prec, at, add(target, code.int64(row * _FIELDS)))
                mixed = mixed | bits
                pair.append(exponents)
            for half in range(2):
                both = pair[0][half].lanes(order, pair[1][half])
                code.store(both, target, _EXPONENTS_AT + p * 128 + half * _VECTOR)
        refuse(code, args, mixed.compare("!=", 0).any())

    return build


def _terms(prec: str, a: Sequence[Vec], x: Sequence[Vec]) -> Vec:
    """Products of the fields of one long word; exact, and so are their sums (below 2**49)."""
    if prec == "g":
        return a[0] * x[0] + a[1] * x[1]
    omitted = a[1] * x[1]
    stand_in = (omitted.bits(I64) & (1 << 63) | omitted.constant(_STAND_IN).bits(I64)).bits(F64)
    return a[0] * x[0] - omitted + omitted.compare("!=", 0.0).select(stand_in, 0.0)


def _wide(w: Vec) -> tuple[Vec, Vec]:
    """Aligned addends as doubles; a sticky unit of 2**128, infinite as a single, becomes that number."""
    low, high = doubles(w)

    def finite(x: Vec) -> Vec:
        bits = x.bits(I64)
        overflowed = (bits & _EXPONENT).compare("==", _EXPONENT)
        return overflowed.select(bits & (1 << 63) | _TWO_TO_128, bits).bits(F64)

    return finite(low), finite(high)


def _finish(prec: str, totals: tuple[Vec, Vec], e: Vec, z: Vec) -> Vec:
    """Rounded sums of products and addend as single patterns; `e` is the sum of both exponent fields (moved)."""
    rule = MATRIX[prec]
    field = exponent(z)
    distance = e - field - 127
    keep = (field.compare("==", 0) | distance.compare(">", -rule.drop_product)) & e.compare(">", 0)
    results = []
    for k, (total, w) in enumerate(zip(totals, _wide(aligned(z, field, distance, rule)), strict=True)):
        lanes = range(8 * k, 8 * k + 8)
        scale = (e.lanes(lanes).cast("sext", I64) + 725 << 52).bits(F64)  # fields count units of 2**(ep - 44)
        product = keep.lanes(lanes).select(total * scale, 0.0)
        results.append(round_single(round_odd(product, w)))
    result = joined(*results).bits(I32)
    result = field.compare("==", 255).select(z & SIGN | INFINITY, result)
    return e.compare("<", INFINITE).select(result, INFINITY)


def _product(prec: str, addend: bool) -> Build:
    """Sources: x and, with `addend`, y; result: LW0, LW1 = 0; mat: the decoded plane.

    x is read before anything is written and y element by element.  par[7] = 1 and nothing else happens when a block of
    x has mixed exponents.
    """

    def build(code: Code, args: Sequence[Any]) -> None:
        builder = code.builder
        fields, exponents = code.stack(4 * _FIELDS), code.stack(4 * 128)
        mixed = code.vector(I32, 8, 0)
        for c in range(4):
            at = builder.add(fields, code.int64(c * _FIELDS))
            bits, found = _decode_row(code, prec, code.row(0, 0, c), at)
            mixed = mixed | bits
            for half in range(2):
                twice = found[half].lanes([m for m in range(8) for _ in range(2)])
                code.store(twice, exponents, c * 128 + half * _VECTOR)
        refused = mixed.compare("!=", 0).any()
        refuse(code, args, refused)
        with builder.if_then(builder.not_(refused)):
            plane = builder.ptrtoint(args[5], I64)
            with code.loop(4) as cycle, code.loop(2) as half, code.loop(4) as pe:
                _unit(code, prec, (plane, fields, exponents), (cycle.index, half.index, pe.index), addend)

    return build


def _unit(code: Code, prec: str, bases: tuple[Any, Any, Any], place: tuple[Any, Any, Any], addend: bool) -> None:
    """Results of one PE of eight MABs; bases = (plane, fields of x, exponents of x), place = (cycle, half, PE)."""
    (plane, fields, exponents), (cycle, half, pe) = bases, place

    def address(base: Any, *terms: tuple[Any, int]) -> Any:
        for value, scale in terms:
            base = code.builder.add(base, code.builder.mul(value, code.int64(scale)))
        return base

    matrix = address(plane, (pe, 2 * _FIELDS), (half, _VECTOR))
    vector = address(fields, (cycle, _FIELDS), (half, _VECTOR))
    lanes = address(code.int64(0), (pe, 128), (half, _VECTOR))
    sums = [code.vector(F64, 8, 0.0), code.vector(F64, 8, 0.0)]
    for p in range(4):
        x = [code.load(vector, k * ROW_BYTES + p * 128, F64, 8) for k in range(2)]
        for row in range(2):
            a = [code.load(matrix, row * _FIELDS + k * ROW_BYTES + p * 128, F64, 8) for k in range(2)]
            sums[row] = sums[row] + _terms(prec, a, x)
    orders = [[k for m in range(first, first + 4) for k in (8 + m, m)] for first in (0, 4)]
    totals = sums[0].lanes(orders[0], sums[1]), sums[0].lanes(orders[1], sums[1])
    e = code.load(address(plane, (pe, 128), (half, _VECTOR)), _EXPONENTS_AT, I32, 16)
    e = e + code.load(address(exponents, (cycle, 128), (half, _VECTOR)), 0, I32, 16)
    z = code.load(code.row(1, 0, cycle), lanes, I32, 16) if addend else code.vector(I32, 16, 0)
    code.store(_finish(prec, totals, e, z), code.row(OUT, 0, cycle), lanes)
    code.store(code.vector(I32, 16, 0), code.row(OUT, 1, cycle), lanes)


def _kernels(prec: str) -> list[tuple[Kernel, RowKernel]]:
    decoder = Kernel(f"fast.decode.{prec}", Kind.LANES, row_body(_decode(prec)), decoder_reference)
    return [
        row_kernel(
            MAU_MATRIX[op, prec, False, ""],
            _product(prec, op == "mfma"),
            (1, 1) if op == "mfma" else (1,),
            frozenset((0,)),
            decoder,
        )
        for op in ("mfma", "mmul")
    ]


FAST_SINGLE_MATRIX: dict[Kernel, RowKernel] = dict([*_kernels("f"), *_kernels("g")])
