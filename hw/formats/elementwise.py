"""Floating-point ALU operations on single elements: bit patterns in, bit pattern and flag out (numerics.md 7)."""

from __future__ import annotations

from hw.formats.descriptor import FloatFormat

RSQRT_EVEN = (63, 62, 60, 58, 57, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45)
RSQRT_ODD = (45, 43, 42, 41, 40, 39, 38, 37, 36, 36, 35, 34, 34, 33, 33, 32)


def rsqrt(x: int, fmt: FloatFormat) -> int:
    """Table approximation of 1/sqrt(abs x); no special values (numerics.md 7.4)."""
    _, exponent, mantissa = fmt.split(x)
    k, odd = divmod(exponent - fmt.bias, 2)
    t = (RSQRT_ODD if odd else RSQRT_EVEN)[mantissa >> (fmt.mantissa_bits - 4)]
    return fmt.join(0, fmt.bias - 1 - k, (t - 32) << (fmt.mantissa_bits - 5))


def floor(x: int, fmt: FloatFormat) -> int:
    """Largest integer value not above x; exponent 0 and infinities pass unchanged (numerics.md 7.2)."""
    sign, exponent, mantissa = fmt.split(x)
    if exponent in (0, fmt.all_ones) or exponent >= fmt.bias + fmt.mantissa_bits:
        return x
    if exponent < fmt.bias:
        return fmt.join(1, fmt.bias, 0) if sign else 0
    fraction_bits = fmt.mantissa_bits - (exponent - fmt.bias)
    magnitude = fmt.join(0, exponent, mantissa)
    kept = magnitude >> fraction_bits << fraction_bits
    if sign and kept != magnitude:
        kept += 1 << fraction_bits  # a carry moves into the exponent field, which is the right value
    return (sign << (fmt.bits - 1)) | kept


def ftoi(x: int, fmt: FloatFormat, *, unsigned: bool) -> int:
    """Integer of the same width toward zero, clipped; `unsigned` takes abs x (numerics.md 7.3)."""
    sign, exponent, mantissa = fmt.split(x)
    if exponent == 0:
        magnitude = 0
    elif exponent == fmt.all_ones:
        magnitude = 1 << fmt.bits
    else:
        shift = exponent - fmt.bias - fmt.mantissa_bits
        significand = (1 << fmt.mantissa_bits) + mantissa
        magnitude = significand << shift if shift >= 0 else significand >> -shift
    if unsigned:
        return min(magnitude, (1 << fmt.bits) - 1)
    limit = 1 << (fmt.bits - 1)
    return max(-magnitude, -limit) % (1 << fmt.bits) if sign else min(magnitude, limit - 1)


def relu(x: int, y: int, fmt: FloatFormat, bit: int) -> int:
    """y when the `bit`-th most significant bit of x is 0, else -0 (isa.md 11.5)."""
    return fmt.sign_bit if (x >> (fmt.bits - 1 - bit)) & 1 else y


def leaky(op: str, x: int, y: int, fmt: FloatFormat) -> int:
    """`lrelud`, `lreluo`, `ilrelud` (numerics.md 7.5)."""
    sign, exponent, mantissa = fmt.split(y)
    if not x & fmt.sign_bit or exponent == fmt.all_ones:
        return y
    if op == "ilrelud":
        return fmt.join(sign, exponent + 1, mantissa)
    step = {"lrelud": 1, "lreluo": 3}[op]
    return fmt.join(sign, exponent - step, mantissa) if exponent > step else fmt.sign_bit


def _order(x: int, fmt: FloatFormat) -> int:
    """Sign-magnitude order in which all exponent-0 patterns are equal (isa.md 11.4)."""
    sign, exponent, _ = fmt.split(x)
    magnitude = x & ~fmt.sign_bit if exponent else 0
    return -magnitude if sign else magnitude


def takes_x(op: str, x: int, y: int, fmt: FloatFormat) -> bool:
    """Whether `max`/`min` choose x; equal operands and two zeros choose x."""
    a, b = _order(x, fmt), _order(y, fmt)
    return a >= b if op == "max" else a <= b


def apply(op: str, x: int, y: int, fmt: FloatFormat) -> tuple[int, int]:
    """Result and flag of one element (isa.md 4.5); operations without a flag return 0 for it."""
    top = x >> (fmt.bits - 1)
    match op:
        case "rsqrt":
            return rsqrt(x, fmt), 1 - top
        case "floor":
            return floor(x, fmt), 0
        case "ftoi" | "uftoi":
            return ftoi(x, fmt, unsigned=op == "uftoi"), 0
        case "max" | "min":
            chosen = takes_x(op, x, y, fmt)
            return (x if chosen else y), int(chosen)
        case "relu" | "relu1" | "relu2" | "relu3":
            bit = int(op[4:] or 0)
            return relu(x, y, fmt, bit), 1 - ((x >> (fmt.bits - 1 - bit)) & 1)
    return leaky(op, x, y, fmt), 1 - top
