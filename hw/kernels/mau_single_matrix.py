"""Bodies of the single (f) and pseudo-single (g) matrix products: exact 64-bit sums, one rounding (numerics.md 6).

f multiplies the first words of each PE (matrix columns 0, 2, 4, 6), g all eight columns with 18-bit fields.  Rows 2p
and 2p+1 belong to PE p.  A block with different exponents sets par[7] (see `hw.kernels.mau_matrix`).
"""

from __future__ import annotations

from typing import Any

from hw.formats.descriptor import BLOCKS, SINGLE, FloatFormat
from hw.formats.multiply_add import MATRIX, OMISSION
from hw.kernels.abi import LANES
from hw.kernels.bits import U0, U1, WORD, I, U, double_of_bits
from hw.kernels.encode import power_of_two
from hw.kernels.mau_single import ENCODERS, make_addend, make_sum, signed_double
from hw.kernels.mixed import report_mixed

_S23, _S31, _S32 = U(23), U(31), U(32)
_E8, _M23 = U(255), U((1 << 23) - 1)
_INFINITY = U(0x7FF << 52)


def make_finish(prec: str, out: FloatFormat) -> Any:
    """Function (total, ea, ex, z) -> pattern of `out`: the signed sum of products of block fields plus the single z.

    ea and ex are the exponent fields of the row's and the vector's block; `total` counts products of field LSBs.
    """
    fmt = BLOCKS[prec].element
    addend, add, encode = make_addend(MATRIX[prec]), make_sum(prec), ENCODERS[out.letter]
    offset, scale, largest = I(2 * fmt.bias), I(-2 * (fmt.mantissa_bits - 1)), U(fmt.all_ones)

    def finish(total: Any, ea: Any, ex: Any, z: Any) -> Any:
        zero = (ea == U0) | (ex == U0)
        infinite = ((ea == largest) | (ex == largest)) & ~zero
        ep = I(ea) + I(ex) - offset
        live = ~(zero | infinite)
        w, keep = addend(z, ep, live)
        s = float(total) * power_of_two(ep + scale)
        result = add(s if live & keep else 0.0, w)
        z_infinity = signed_double(double_of_bits(_INFINITY), z >> _S31)
        result = z_infinity if z >> _S23 & _E8 == _E8 else result
        return encode(double_of_bits(_INFINITY) if infinite else result)

    return finish


def _signed_term(a: Any, x: Any, n: Any) -> Any:
    """n with the product sign of the patterns a and x, as int64."""
    return -I(n) if (a ^ x) >> _S31 & U1 else I(n)


_LOW, _STAND_IN = U((1 << OMISSION["f"][0]) - 1), U(OMISSION["f"][1])


def _term_f(a: Any, x: Any) -> Any:
    omitted = (a & _LOW) * (x & _LOW)
    correction = _STAND_IN - omitted
    return _signed_term(a, x, (a & _M23) * (x & _M23) + (correction if omitted else U0))


_M18 = _M23 & ~U(31)


def _term_g(a: Any, x: Any) -> Any:
    return _signed_term(a, x, (a & _M18) * (x & _M18))


def _row_f(mat: Any, s0: Any, row: Any, vector: Any) -> Any:
    """(sum, exponents of row and x, bits that differ in row and in x) of four terms; row, vector: indices of PE 0."""
    total, row_mix, x_mix = I(0), U0, U0
    ea, ex = mat[row] >> U(55) & _E8, s0[vector] >> U(55) & _E8
    for j in range(0, 64, 16):
        a, x = mat[row + j] >> _S32, s0[vector + j] >> _S32
        total += _term_f(a, x)
        row_mix |= a >> _S23 & _E8 ^ ea
        x_mix |= x >> _S23 & _E8 ^ ex
    return total, ea, ex, row_mix, x_mix


def _row_g(mat: Any, s0: Any, row: Any, vector: Any) -> Any:
    """The same for eight terms."""
    total, row_mix, x_mix = I(0), U0, U0
    ea, ex = mat[row] >> U(55) & _E8, s0[vector] >> U(55) & _E8
    for j in range(0, 64, 16):
        a, x = mat[row + j], s0[vector + j]
        total += _term_g(a >> _S32, x >> _S32) + _term_g(a & WORD, x & WORD)
        row_mix |= (a >> U(55) & _E8 ^ ea) | (a >> _S23 & _E8 ^ ea)
        x_mix |= (x >> U(55) & _E8 ^ ex) | (x >> _S23 & _E8 ^ ex)
    return total, ea, ex, row_mix, x_mix


def single_matrix_body(prec: str, multiply_only: bool, out: FloatFormat) -> Any:
    """Body for prec f or g; `multiply_only` leaves source 1 (the addend) unread."""
    row_sum = {"f": _row_f, "g": _row_g}[prec]
    finish = make_finish(prec, out)
    narrow = out is not SINGLE
    sign, low_up = U(out.bits - 1), U(64 - 2 * out.bits)
    high_up = U(64 - out.bits)
    high_flags, low_flags = (U(8), U(4)) if narrow else (U(12), U(3))

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        mixed = U0
        for c in range(0, LANES, 64):
            for p in range(4):
                for m in range(16):
                    i = c + p * 16 + m
                    z = U0 if multiply_only else s1[i]
                    total, ea, ex, row_mix, x_mix = row_sum(mat, s0, p * 256 + m, c + m)
                    a = finish(total, ea, ex, z >> _S32)
                    mixed |= row_mix | x_mix
                    total, ea, ex, row_mix, x_mix = row_sum(mat, s0, p * 256 + 128 + m, c + m)
                    b = finish(total, ea, ex, z & WORD)
                    mixed |= row_mix
                    out[i] = a << high_up | b << low_up
                    out[LANES + i] = U0
                    flags[i] = (a >> sign ^ U1) * high_flags | (b >> sign ^ U1) * low_flags
        if mixed:
            report_mixed(s0, mat, par, row_sum, 0, 8, 128)

    return body
