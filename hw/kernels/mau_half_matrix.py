"""Body of the half matrix product: 16-bit signed fields, exact 32-bit sums, one rounding in float64 (numerics.md 6).

Rows 4p..4p+3 belong to PE p.  The sums of the common case (one exponent per block) come from `dot_halves`; blocks with
extended elements take `_extended_sums`, which rounds single products (numerics.md 6.3) and finds improper blocks.
"""

from __future__ import annotations

from typing import Any

from hw.formats.descriptor import SINGLE, FloatFormat
from hw.formats.multiply_add import EXTENSION_STEP, ONE_STEP, TIE_CARRY, TWO_STEPS
from hw.kernels.abi import LANES
from hw.kernels.bits import U0, U1, WORD, I, U, as_halfwords, dot_halves, out_of_line, stack_halfwords, stack_words
from hw.kernels.mau_single_matrix import make_finish
from hw.kernels.mixed import ERROR_SLOT, MATRIX_ROW, VECTOR_BLOCK, mixed_code

_S9, _S15, _S16, _S32, _S48, _S57 = U(9), U(15), U(16), U(32), U(48), U(57)
_E6, _M9 = U(63), U(511)
_EXPONENTS = U(0x7E007E007E007E00)
_STEP = U(EXTENSION_STEP)
_ONE_SUM_2, _ONE_ROW_1 = U(ONE_STEP.sum_2), U(ONE_STEP.row_1)
_TWO_EITHER_4, _TWO_SUM_4, _TWO_SUM_3 = U(TWO_STEPS.either_4), U(TWO_STEPS.sum_4), U(TWO_STEPS.sum_3)
_TWO_CARRY_2, _TWO_SUM_2, _TWO_ROW_1 = U(TWO_STEPS.carry_2), U(TWO_STEPS.sum_2), U(TWO_STEPS.row_1)
_TIE_CARRY = U(TIE_CARRY)


def _unlike(x: Any, first: Any) -> Any:
    """Nonzero when the four exponents of a long word differ, or differ from those of the block's first long word."""
    e = x & _EXPONENTS
    return e ^ (e << _S16 | e >> _S48) | e ^ first & _EXPONENTS


@out_of_line
def _mixed_bits(words: Any, blocks: Any) -> Any:
    """Nonzero when one of `blocks` x 16 blocks (four long words at distance 16) has unlike exponents."""
    mixed = U0
    for block in range(0, blocks * 64, 64):
        for p in range(0, 64, 16):
            for m in range(16):
                mixed |= _unlike(words[block + p + m], words[block + m])
    return mixed


@out_of_line
def _signed_fields(words: Any, fields: Any, count: Any) -> None:
    """Sign and mantissa field of `count` half words as int16, in memory order."""
    halves = as_halfwords(words)
    for i in range(count):
        x = U(halves[i])
        sign = x >> _S15
        fields[i] = (x & _M9 ^ U0 - sign) + sign


@out_of_line
def _common_exponent(words: Any, block: Any, m: Any) -> Any:
    """(largest exponent of a block, nonzero when it holds another exponent that is not 0)."""
    largest, improper = U0, U0
    for k in range(16):
        largest = max(largest, words[block + (k & 3) * 16 + m] >> U(9 + 4 * (k & 12)) & _E6)
    for k in range(16):
        e = words[block + (k & 3) * 16 + m] >> U(9 + 4 * (k & 12)) & _E6
        improper |= U1 if (e != U0) & (e != largest) else U0
    return largest, improper


@out_of_line
def _extended_sums(mat: Any, s0: Any, par: Any, row_exponents: Any, x_exponents: Any, sums: Any) -> None:
    """Exponents and sums as the fast path leaves them, with extended elements; improper blocks set par[7]."""
    for m in range(16):
        for row in range(16):
            largest, improper = _common_exponent(mat, row * 64, m)
            row_exponents[(row & 3) * 64 + (row >> 2) * 16 + m] = largest
            if improper:
                par[ERROR_SLOT] = mixed_code(MATRIX_ROW, m, row)
        for c in range(4):
            largest, improper = _common_exponent(s0, c * 64, m)
            for p in range(4):
                x_exponents[c * 64 + p * 16 + m] = largest
            if improper:
                par[ERROR_SLOT] = mixed_code(VECTOR_BLOCK, m, c)
    rows, vectors, terms = as_halfwords(mat), as_halfwords(s0), stack_words(256)
    for row in range(16):
        for c in range(4):
            for i in range(256):
                terms[i] = _rounded_term(U(rows[row * 256 + i]), U(vectors[c * 256 + i]))
            for m in range(16):
                total = U0
                for i in range(m * 4, 256, 64):
                    total += terms[i] + terms[i + 1] + terms[i + 2] + terms[i + 3]
                sums[(row & 3) * LANES + c * 64 + (row >> 2) * 16 + m] = total


def _row(a: Any, x: Any, j: Any) -> Any:
    """Adder row j of the half multiplier: bit j of one field with bits up to j of the other."""
    bit = U1 << U(j)
    below = bit - U1
    row = (x & below & U0 - (a >> U(j) & U1)) + (a & below & U0 - (x >> U(j) & U1)) + (a & x & bit)
    return row << U(j)


def _carries(total: Any, carry: Any, row: Any) -> Any:
    """Carry vector of a carry-save adder."""
    return (total & carry | total & row | carry & row) << U1


def _rounded_term(a: Any, x: Any) -> Any:
    """Product of two half elements as int64 bits, 6 bits lower for each extended factor (exponent field 0).

    The rounding is that of `multiply_add.shifted_half_product`; without selects on large parts, so that it vectorises.
    """
    a_shift = _STEP if a >> _S9 & _E6 == U0 else U0
    x_shift = _STEP if x >> _S9 & _E6 == U0 else U0
    negative = (a ^ x) >> _S15 & U1
    a, x, shift = a & _M9, x & _M9, a_shift + x_shift
    row_8, row_7, row_6, row_5, row_4 = _row(a, x, 8), _row(a, x, 7), _row(a, x, 6), _row(a, x, 5), _row(a, x, 4)
    row_3, row_2, row_1 = _row(a, x, 3), _row(a, x, 2), _row(a, x, 1)
    sum_6, carry_6 = row_8 ^ row_7 ^ row_6, _carries(row_8, row_7, row_6)
    sum_5, carry_5 = sum_6 ^ carry_6 ^ row_5, _carries(sum_6, carry_6, row_5)
    sum_4, carry_4 = sum_5 ^ carry_5 ^ row_4, _carries(sum_5, carry_5, row_4)
    sum_3, carry_3 = sum_4 ^ carry_4 ^ row_3, _carries(sum_4, carry_4, row_3)
    sum_2, carry_2 = sum_3 ^ carry_3 ^ row_2, _carries(sum_3, carry_3, row_2)
    one = (sum_2 & _ONE_SUM_2) + (row_1 & _ONE_ROW_1)
    two = ((sum_4 | carry_4) & _TWO_EITHER_4) + (sum_4 & _TWO_SUM_4) + (sum_3 & _TWO_SUM_3)
    two += (carry_2 & _TWO_CARRY_2) + (sum_2 & _TWO_SUM_2) + (row_1 & _TWO_ROW_1)
    lost = two if shift > _STEP else one
    kept = a * x - (lost if shift != U0 else U0)
    odd = kept >> shift ^ (carry_4 >> _TIE_CARRY if shift > _STEP else U0)
    bias = ((U1 << shift) >> U1) - U1 + (odd & U1)
    n = (kept + (bias if shift != U0 else U0)) >> shift
    return (n ^ U0 - negative) + negative


def half_matrix_body(multiply_only: bool, out: FloatFormat) -> Any:
    """Body of hmfma or (`multiply_only`) hmmul with results in single or half."""
    finish = make_finish("h", out)
    narrow = out is not SINGLE
    sign = U(out.bits - 1)

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        fields, x_fields = stack_halfwords(4096), stack_halfwords(1024)
        sums, row_exponents, x_exponents = stack_words(1024), stack_words(256), stack_words(256)
        if _mixed_bits(mat, 16) | _mixed_bits(s0, 4):
            _extended_sums(mat, s0, par, row_exponents, x_exponents, sums)
        else:
            _signed_fields(mat, fields, 4096)
            _signed_fields(s0, x_fields, 1024)
            for row in range(16):
                dot_halves(fields, x_fields, sums, row)
            for k in range(4):
                for i in range(64):
                    row_exponents[k * 64 + i] = mat[((i >> 4) * 4 + k) * 64 + (i & 15)] >> _S57 & _E6
            for i in range(LANES):
                x_exponents[i] = s0[(i & ~63) + (i & 15)] >> _S57 & _E6
        for k in range(4):
            down = _S32 if k & 1 == 0 else U0
            for c in range(0, LANES, 64):
                for q in range(64):
                    z = U0 if multiply_only else s1[(k >> 1) * LANES + c + q] >> down & WORD
                    i = k * LANES + c + q
                    sums[i] = finish(I(sums[i]), row_exponents[k * 64 + q], x_exponents[c + q], z)
        for i in range(LANES):
            r0, r1, r2, r3 = sums[i], sums[LANES + i], sums[2 * LANES + i], sums[3 * LANES + i]
            if narrow:
                out[i] = r0 << _S48 | r1 << _S32 | r2 << _S16 | r3
                out[LANES + i] = U0
            else:
                out[i] = r0 << _S32 | r1
                out[LANES + i] = r2 << _S32 | r3
            high = (r0 >> sign ^ U1) << U(3) | (r1 >> sign ^ U1) << U(2)
            flags[i] = high | (r2 >> sign ^ U1) << U1 | (r3 >> sign ^ U1)

    return body
