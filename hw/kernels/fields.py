"""Field-wise conversions of single elements inside kernel bodies (numerics.md 8); elements are zero-extended uint64."""

from __future__ import annotations

from typing import Any

from hw.kernels.bits import U0, U1, I, U

_M9, _M14, _M23 = U(0x1FF), U(0x3FFF), U(0x7FFFFF)
_E6, _E8 = U(63), U(255)
_S6, _S9, _S14, _S16, _S23, _S29, _S31, _S32, _S52, _S63 = (U(n) for n in (6, 9, 14, 16, 23, 29, 31, 32, 52, 63))
_HALF_OF_CUT = U(0x1FFF)
_REBIAS_HALF, _REBIAS_SINGLE = U(96), U(896)
_ALL_SINGLE, _ALL_DOUBLE = U(255), U(2047)


def widen_half_raw(x: Any) -> Any:
    """Half -> single field by field: exponent 0 -> 0, 63 -> 255, else + 96."""
    e = x >> _S9 & _E6
    wide = _ALL_SINGLE if e == _E6 else e + _REBIAS_HALF
    wide = U0 if e == U0 else wide
    return x >> _S9 >> _S6 << _S31 | wide << _S23 | (x & _M9) << _S14


def widen_half_signed(x: Any) -> Any:
    """Half -> single by value, sign of zero kept."""
    e = x >> _S9 & _E6
    wide = widen_half_raw(x)
    return wide & ~_M23 if (e == U0) | (e == _E6) else wide


def widen_half_value(x: Any) -> Any:
    """Half -> single by value, zero becomes +0."""
    wide = widen_half_signed(x)
    return U0 if x >> _S9 & _E6 == U0 else wide


def widen_single_raw(x: Any) -> Any:
    """Single -> double field by field: exponent 0 -> 0, 255 -> 2047, else + 896."""
    e = x >> _S23 & _E8
    wide = _ALL_DOUBLE if e == _E8 else e + _REBIAS_SINGLE
    wide = U0 if e == U0 else wide
    return x >> _S31 << _S63 | wide << _S52 | (x & _M23) << _S29


def widen_single_signed(x: Any) -> Any:
    """Single -> double by value, sign of zero kept."""
    e = x >> _S23 & _E8
    return widen_single_raw(x & ~_M23 if (e == U0) | (e == _E8) else x)


def widen_single_value(x: Any) -> Any:
    """Single -> double by value, zero becomes +0."""
    wide = widen_single_signed(x)
    return U0 if x >> _S23 & _E8 == U0 else wide


def narrow_single_raw(x: Any) -> Any:
    """Single -> half by the raw rule: mantissa rounded to nearest even, exponent clamped to 0..63, sign kept."""
    m = x & _M23
    q = (m + _HALF_OF_CUT + (m >> _S14 & U1)) >> _S14
    e = I(x >> _S23 & _E8) - I(96) + I(q >> _S9)
    e = min(max(e, I(0)), I(63))
    return x >> _S31 << U(15) | U(e) << _S9 | (q & _M9)
