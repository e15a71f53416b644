"""Floating-point ALU operations (isa.md 11.2, numerics.md 7): `ALU_FLOAT[(op, prec)]`, prec d, f, h.

op: passa, packbit (the integer kernels of the same width), max, min, rsqrt, floor, ftoi, uftoi, relu, relu1, relu2,
relu3, lrelud, lreluo, ilrelud.  floor and (u)ftoi have no flags.  Result LW1 is LW1 of the first source.
"""

from __future__ import annotations

from typing import Any

from hw.formats import elementwise as slow
from hw.formats.descriptor import FLOATS, FloatFormat
from hw.kernels.abi import Kernel, Kind
from hw.kernels.alu_body import make_body, make_silent_body
from hw.kernels.alu_int import ALU_INT
from hw.kernels.bits import U0, U1, I, U
from hw.kernels.reference import elementwise

_ALL_BITS = U(0xFFFFFFFFFFFFFFFF)
_I0, _I1, _I63 = I(0), I(1), I(63)


def _packed(table: tuple[int, ...], first: int) -> Any:
    """Eight table entries of 8 bits each as one uint64, entry `first` lowest."""
    return U(sum(entry << (8 * k) for k, entry in enumerate(table[first : first + 8])))


_EVEN_LOW, _EVEN_HIGH = _packed(slow.RSQRT_EVEN, 0), _packed(slow.RSQRT_EVEN, 8)
_ODD_LOW, _ODD_HIGH = _packed(slow.RSQRT_ODD, 0), _packed(slow.RSQRT_ODD, 8)


def _rsqrt(fmt: FloatFormat) -> Any:
    index_shift, value_shift = U(fmt.mantissa_bits - 4), U(fmt.mantissa_bits - 5)
    m_bits, e_mask, bias = U(fmt.mantissa_bits), U(fmt.all_ones), I(fmt.bias)

    def rsqrt(x: Any, y: Any, n: Any) -> Any:
        exponent = I(x >> m_bits & e_mask) - bias
        index = x >> index_shift & U(15)
        odd = exponent & _I1 != _I0
        low = _ODD_LOW if odd else _EVEN_LOW
        high = _ODD_HIGH if odd else _EVEN_HIGH
        t = (low if index < U(8) else high) >> ((index & U(7)) << U(3)) & U(255)
        return U(bias - _I1 - (exponent >> _I1)) << m_bits | (t - U(32)) << value_shift

    return rsqrt


def _floor(fmt: FloatFormat) -> Any:
    m_bits, e_mask, bias, sign_shift = U(fmt.mantissa_bits), U(fmt.all_ones), U(fmt.bias), U(fmt.bits - 1)
    last_fractional = U(fmt.bias + fmt.mantissa_bits)
    one = U(fmt.join(0, fmt.bias, 0))

    def floor(x: Any, y: Any, n: Any) -> Any:
        e = x >> m_bits & e_mask
        sign = x >> sign_shift
        fraction = min(max(last_fractional - min(e, last_fractional), U0), m_bits)
        unit = U1 << fraction
        cut = x & (unit - U1)
        integral = x - cut + (unit if (cut != U0) & (sign != U0) else U0)
        small = (one if sign != U0 else U0) | sign << sign_shift
        result = small if e < bias else integral
        return x if (e == U0) | (e == e_mask) else result

    return floor


def _magnitude(fmt: FloatFormat) -> Any:
    """Function x -> abs x truncated to an integer; all ones when it is infinite or has more than 64 bits."""
    m_bits, e_mask = U(fmt.mantissa_bits), U(fmt.all_ones)
    m_mask, hidden = U((1 << fmt.mantissa_bits) - 1), U(1 << fmt.mantissa_bits)
    whole, too_large = I(fmt.bias + fmt.mantissa_bits), I(fmt.bias + 64)

    def magnitude(x: Any) -> Any:
        e = I(x >> m_bits & e_mask)
        significand = x & m_mask | hidden
        shift = e - whole
        value = significand << U(min(max(shift, _I0), _I63)) >> U(min(max(-shift, _I0), _I63))
        value = U0 if e == _I0 else value
        return _ALL_BITS if e >= too_large else value

    return magnitude


def _ftoi(fmt: FloatFormat) -> Any:
    magnitude, sign_shift = _magnitude(fmt), U(fmt.bits - 1)
    limit = U(fmt.sign_bit)

    def ftoi(x: Any, y: Any, n: Any) -> Any:
        sign = x >> sign_shift
        clipped = min(magnitude(x), limit - U1 + sign)
        return (clipped ^ U0 - sign) + sign

    return ftoi


def _uftoi(fmt: FloatFormat) -> Any:
    magnitude = _magnitude(fmt)
    most = U((1 << fmt.bits) - 1)

    def uftoi(x: Any, y: Any, n: Any) -> Any:
        return min(magnitude(x), most)

    return uftoi


def _order(fmt: FloatFormat) -> Any:
    """Function x -> int64 that orders by value, all exponent-0 patterns equal (isa.md 11.4)."""
    m_bits, e_mask = U(fmt.mantissa_bits), U(fmt.all_ones)
    sign_shift, magnitude_mask = U(fmt.bits - 1), U(fmt.sign_bit - 1)

    def order(x: Any) -> Any:
        magnitude = I(U0 if x >> m_bits & e_mask == U0 else x & magnitude_mask)
        return -magnitude if x >> sign_shift != U0 else magnitude

    return order


def _select(fmt: FloatFormat, largest: bool) -> tuple[Any, Any]:
    order = _order(fmt)

    def takes_x(x: Any, y: Any) -> Any:
        return order(x) >= order(y) if largest else order(x) <= order(y)

    def select(x: Any, y: Any, n: Any) -> Any:
        return x if takes_x(x, y) else y

    def flag(x: Any, y: Any, r: Any, n: Any) -> Any:
        return U1 if takes_x(x, y) else U0

    return select, flag


def _relu(fmt: FloatFormat, bit: int) -> tuple[Any, Any]:
    shift, minus_zero = U(fmt.bits - 1 - bit), U(fmt.sign_bit)

    def relu(x: Any, y: Any, n: Any) -> Any:
        return y if x >> shift & U1 == U0 else minus_zero

    def flag(x: Any, y: Any, r: Any, n: Any) -> Any:
        return (x >> shift & U1) ^ U1

    return relu, flag


def _leaky(fmt: FloatFormat, step: int) -> Any:
    """lrelud (step 1), lreluo (step 3)."""
    m_bits, e_mask, sign_shift = U(fmt.mantissa_bits), U(fmt.all_ones), U(fmt.bits - 1)
    minus_zero, least, decrement = U(fmt.sign_bit), U(step), U(step << fmt.mantissa_bits)

    def leaky(x: Any, y: Any, n: Any) -> Any:
        e = y >> m_bits & e_mask
        reduced = y - decrement if e > least else minus_zero
        return y if (x >> sign_shift == U0) | (e == e_mask) else reduced

    return leaky


def _inverse_leaky(fmt: FloatFormat) -> Any:
    """ilrelud."""
    m_bits, e_mask = U(fmt.mantissa_bits), U(fmt.all_ones)
    sign_shift, increment = U(fmt.bits - 1), U(1 << fmt.mantissa_bits)

    def inverse_leaky(x: Any, y: Any, n: Any) -> Any:
        return y if (x >> sign_shift == U0) | (y >> m_bits & e_mask == e_mask) else y + increment

    return inverse_leaky


def _functions(op: str, fmt: FloatFormat) -> tuple[Any, Any]:
    """(operation, flag or None)."""
    positive = _relu(fmt, 0)[1]
    match op:
        case "max" | "min":
            return _select(fmt, op == "max")
        case "relu" | "relu1" | "relu2" | "relu3":
            return _relu(fmt, int(op[4:] or 0))
        case "rsqrt":
            return _rsqrt(fmt), positive
        case "floor":
            return _floor(fmt), None
        case "ftoi":
            return _ftoi(fmt), None
        case "uftoi":
            return _uftoi(fmt), None
        case "ilrelud":
            return _inverse_leaky(fmt), positive
    return _leaky(fmt, {"lrelud": 1, "lreluo": 3}[op]), positive


_RELU = ("relu", "relu1", "relu2", "relu3")
_OPS = ("max", "min", "rsqrt", "floor", "ftoi", "uftoi", *_RELU, "lrelud", "lreluo", "ilrelud")
_SAME_WIDTH = {"d": "l", "f": "i", "h": "s"}


def _kernel(op: str, prec: str) -> Kernel:
    if op in ("passa", "packbit"):
        return ALU_INT[op, _SAME_WIDTH[prec], False]
    fmt = FLOATS[prec]
    function, flag = _functions(op, fmt)
    body = make_silent_body(function, fmt.bits) if flag is None else make_body(function, flag, fmt.bits)

    def element(x: int, y: int) -> tuple[int, int]:
        return slow.apply(op, x, y, fmt)

    return Kernel(f"alu.{prec}{op}", Kind.LANES, body, elementwise(element, fmt.bits), has_flags=flag is not None)


ALU_FLOAT: dict[tuple[str, str], Kernel] = {
    (op, prec): _kernel(op, prec) for op in ("passa", "packbit", *_OPS) for prec in FLOATS
}
