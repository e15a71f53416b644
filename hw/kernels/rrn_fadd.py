"""Bodies of the floating-point sum of one reduction circuit (numerics.md 4.2), 64 columns at a time.

Two passes over the inputs: largest exponent, then the aligned integer sum; all partial sums are exact in 64 bits for
up to 64 inputs of a double (56 + 6 bits), and exact in a float64 for the other formats.
"""

from __future__ import annotations

from typing import Any

from hw.formats.descriptor import HALF, SINGLE, FloatFormat
from hw.kernels.bits import U0, U1, I, U, out_of_line, stack_words
from hw.kernels.encode import encode_half, encode_integer, encode_single, power_of_two

_CHUNK = 64
_LARGEST_SHIFT = U(63)


def _finish_half(total: Any, scale: Any) -> Any:
    return encode_half(float(total) * power_of_two(scale))


def _finish_single(total: Any, scale: Any) -> Any:
    return encode_single(float(total) * power_of_two(scale))


_FINISH: dict[str, Any] = {"h": _finish_half, "f": _finish_single, "d": encode_integer}


def _column_sum(fmt: FloatFormat, out_fmt: FloatFormat) -> Any:
    """Function that ORs the sums of up to 64 columns, moved left by `up`, into out[0..width)."""
    finish = _FINISH[out_fmt.letter]
    m_bits, sign_shift, all_ones = U(fmt.mantissa_bits), U(fmt.bits - 1), U(fmt.all_ones)
    m_mask, hidden = U((1 << fmt.mantissa_bits) - 1), U(1 << fmt.mantissa_bits)
    scale = I(-fmt.bias - fmt.mantissa_bits - 3)
    infinity = U(out_fmt.join(0, out_fmt.all_ones, 0))
    minus = U(out_fmt.sign_bit)
    guard = U(3)

    @out_of_line
    def column_sum(
        s0: Any, first: Any, n: Any, stride: Any, width: Any, down: Any, out: Any, start: Any, up: Any
    ) -> None:
        largest = stack_words(64)
        total = stack_words(64)
        plus = stack_words(64)
        for j in range(width):
            largest[j] = U0
            total[j] = U0
            plus[j] = U0
        for i in range(n):
            row = first + i * stride
            for j in range(width):
                largest[j] = max(largest[j], s0[row + j] >> down >> m_bits & all_ones)
        for i in range(n):
            row = first + i * stride
            for j in range(width):
                x = s0[row + j] >> down
                e = x >> m_bits & all_ones
                negative = x >> sign_shift & U1
                term = (x & m_mask | hidden) << guard
                shift = min(largest[j] - e, _LARGEST_SHIFT)
                quotient = term >> shift
                # Adding half a unit minus one, plus one when the quotient is odd, rounds to nearest even.
                bias = (U1 << shift >> U1) - U1 + (quotient & U1) if shift else U0
                rounded = (term + bias) >> shift if e else U0
                total[j] += U0 - rounded if negative else rounded
                plus[j] |= U1 if e == all_ones and not negative else U0
        for j in range(width):
            finite = finish(I(total[j]), I(largest[j]) + scale)
            infinite = infinity if plus[j] else infinity | minus
            out[start + j] |= (infinite if largest[j] == all_ones else finite) << up

    return column_sum


def fadd_body(fmt: FloatFormat) -> Any:
    """Body of `fadd` with inputs and result in `fmt`."""
    column_sum = _column_sum(fmt, fmt)
    elements, bits = 64 // fmt.bits, fmt.bits

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        n, count = par[0], par[1]
        for start in range(0, count, _CHUNK):
            width = min(_CHUNK, count - start)
            for j in range(width):
                out[start + j] = U0
            for k in range(elements):
                shift = U(64 - bits * (k + 1))
                column_sum(s0, start, n, count, width, shift, out, start, shift)

    return body


def fadd_narrow_body() -> Any:
    """Body of `fadd` on singles with half results, inputs s0[n][2][count] (see `hw.kernels.rrn`)."""
    column_sum = _column_sum(SINGLE, HALF)

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        n, count = par[0], par[1]
        for start in range(0, count, _CHUNK):
            width = min(_CHUNK, count - start)
            for j in range(width):
                out[start + j] = U0
            for k in range(4):
                first = (k >> 1) * count + start
                column_sum(s0, first, n, 2 * count, width, U(32 - 32 * (k & 1)), out, start, U(48 - 16 * k))

    return body
