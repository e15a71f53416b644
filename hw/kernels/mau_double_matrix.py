"""Body of the double matrix product: four 104-bit products summed in 128 bits, one rounding (numerics.md 6).

Row p belongs to PE p; half "u" computes rows 0 and 1, "d" rows 2 and 3, the other PEs round y alone.  Only the rows
that are computed must be proper blocks; an offence sets par[7] (see `hw.kernels.mixed`).
"""

from __future__ import annotations

from typing import Any

from hw.formats.descriptor import DOUBLE, FloatFormat
from hw.formats.multiply_add import MATRIX
from hw.kernels.abi import LANES
from hw.kernels.bits import U0, U1, I, U
from hw.kernels.mau_double import infinity_of, is_infinite, make_aligned_sum, omitted_product
from hw.kernels.mixed import report_mixed
from hw.kernels.wide import add_signed

_S52, _S63 = U(52), U(63)
_E11, _M52 = U(2047), U((1 << 52) - 1)
_ALL = U(DOUBLE.all_ones)
_BIAS = I(2 * DOUBLE.bias)


def _row_sum(mat: Any, s0: Any, row: Any, vector: Any) -> Any:
    """(sign, high, low, exponent of row, of x, bits that differ in row, in x); row and vector index PE 0."""
    negative, high, low, row_mix, x_mix = U0, U0, U0, U0, U0
    ea, ex = mat[row] >> _S52 & _E11, s0[vector] >> _S52 & _E11
    for j in range(0, 64, 16):
        a, x = mat[row + j], s0[vector + j]
        term_high, term_low = omitted_product(a & _M52, x & _M52)
        negative, high, low = add_signed(negative, high, low, (a ^ x) >> _S63, term_high, term_low)
        row_mix |= a >> _S52 & _E11 ^ ea
        x_mix |= x >> _S52 & _E11 ^ ex
    return negative, high, low, ea, ex, row_mix, x_mix


def double_matrix_body(half: str, multiply_only: bool, out: FloatFormat) -> Any:
    """Body for half "u" or "d"; `multiply_only` leaves source 1 (the addend) unread."""
    aligned_sum = make_aligned_sum(MATRIX["d"], -102, out)
    infinity, sign_shift, up = U(out.join(0, out.all_ones, 0)), U(out.bits - 1), U(64 - out.bits)
    flag_bits = U(15 if out is DOUBLE else 12)
    first = 0 if half == "u" else 2

    def element(mat: Any, s0: Any, row: Any, vector: Any, z: Any) -> Any:
        negative, high, low, ea, ex, row_mix, x_mix = _row_sum(mat, s0, row, vector)
        live = (ea != U0) & (ex != U0)
        if live and (ea == _ALL or ex == _ALL):
            return infinity, row_mix | x_mix
        if is_infinite(z):
            return infinity_of(False, U0, z, infinity, sign_shift), row_mix | x_mix
        return aligned_sum(live, negative, high, low, I(ea) + I(ex) - _BIAS, z), row_mix | x_mix

    def alone(z: Any) -> Any:
        if is_infinite(z):
            return infinity_of(False, U0, z, infinity, sign_shift)
        return aligned_sum(False, U0, U0, U0, I(0), z)

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        mixed = U0
        for i in range(LANES):
            p = (i >> 4) & 3
            z = U0 if multiply_only else s1[i]
            if first <= p <= first + 1:
                r, mix = element(mat, s0, p * 256 + (i & 15), (i & ~48), z)
                mixed |= mix
            else:
                r = alone(z)
            out[i] = r << up
            out[LANES + i] = U0
            flags[i] = (r >> sign_shift ^ U1) * flag_bits
        if mixed:
            report_mixed(s0, mat, par, _row_sum, first, first + 2, 256)

    return body
