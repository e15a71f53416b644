"""Host arrays to raw device elements and back: `encode` and `decode`, and the bits that fill padding.

Half is 1-6-9 without denormals or NaN (numerics.md 1.1); narrowing to it is the value rule of numerics.md 8: round to
nearest even with unbounded exponent, then overflow to infinity and underflow to +0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from compiler.graph.errors import DtypeError
from compiler.graph.mntype import MNType
from compiler.graph.value import PadType

_HALF_MANTISSA = 9
_HALF_MANTISSA_MASK = 0x1FF
_HALF_INF = 0x7E00
_REBIAS = 127 - 31  # float32 exponent minus half exponent


def float32_to_half(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Half bits of float32 values; NaN, which the device lacks, becomes infinity of its sign."""
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
    magnitude = (bits & np.uint32(0x7FFFFFFF)).astype(np.int32)
    sign = (bits >> np.uint32(16)).astype(np.uint16) & np.uint16(0x8000)
    drop = 23 - _HALF_MANTISSA
    shifted = magnitude - np.int32(_REBIAS << 23)
    # Adding just under half a unit, plus the lowest kept bit, rounds to nearest even; carries run into the exponent.
    rounded = (shifted + (np.int32((1 << (drop - 1)) - 1) + ((shifted >> drop) & 1))) >> drop
    half: NDArray[np.uint16] = np.minimum(rounded, _HALF_INF).astype(np.uint16) | sign
    half[rounded < 1 << _HALF_MANTISSA] = 0
    return half


def float64_to_half(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Half bits of float64 values, rounded once (through float32 rounded to odd)."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        inexact = np.isfinite(single) & (single.astype(np.float64) != values)
        too_far = inexact & (np.abs(single.astype(np.float64)) > np.abs(values))
    bits = single.view(np.uint32)
    # Round to odd: step back to the truncated value where needed, then mark what was lost in the lowest bit.
    bits[...] -= too_far
    bits[...] |= inexact
    return float32_to_half(single)


def half_to_float32(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Values of half bits, exact: field 0 is a zero of its sign, field 63 an infinity whatever the mantissa."""
    wide = bits.astype(np.uint32)
    magnitude = wide & np.uint32(0x7FFF)
    single = (magnitude << np.uint32(23 - _HALF_MANTISSA)) + np.uint32(_REBIAS << 23)
    single[magnitude <= _HALF_MANTISSA_MASK] = 0
    single[magnitude >= _HALF_INF] = 0x7F800000
    single |= (wide & np.uint32(0x8000)) << np.uint32(16)
    return single.view(np.float32)


def encode(array: NDArray[Any], mntype: MNType) -> NDArray[Any]:
    """Raw elements (uint16/32/64, same shape) of a bool, integer or float array.

    Float types take any of these by value; integer types take bool (0 and 1) and integers that fit.  DtypeError for
    integers out of range, floats into integers and other arrays.  FLOAT and DOUBLE keep all bits of their own type.
    """
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise DtypeError(f"cannot encode {array.dtype} as {mntype}: expected bool, integers or floats")
    if mntype is MNType.HALF:
        if array.dtype in (np.float16, np.float32, np.bool_):
            return float32_to_half(np.atleast_1d(array.astype(np.float32))).reshape(array.shape)
        return float64_to_half(np.atleast_1d(array.astype(np.float64))).reshape(array.shape)
    if not mntype.is_float:
        _check_integers(array, mntype)
    with np.errstate(over="ignore", under="ignore"):
        return array.astype(mntype.host_dtype).view(mntype.raw_dtype)


def decode(raw: NDArray[Any], mntype: MNType, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Host values of raw elements, in the type's own NumPy type or in `dtype`.

    `dtype` may be bool (different from zero), any float type for any element type, or an integer type for integers;
    DtypeError for integers that do not fit it and for floats asked as integers.
    """
    raw = np.asarray(raw)
    if raw.dtype != mntype.raw_dtype:
        raise DtypeError(f"raw {mntype} elements are {mntype.raw_dtype}, got {raw.dtype}")
    if mntype is MNType.HALF:
        values: NDArray[Any] = half_to_float32(np.atleast_1d(raw)).reshape(raw.shape)
    else:
        values = raw.view(mntype.host_dtype)
    target = mntype.host_dtype if dtype is None else np.dtype(dtype)
    if target.kind not in "biuf":
        raise DtypeError(f"cannot decode {mntype} as {target}: expected bool, an integer or a float type")
    if target.kind == "b":
        nonzero: NDArray[Any] = values != 0
        return nonzero
    if target.kind in "iu":
        if mntype.is_float:
            raise DtypeError(f"cannot decode {mntype} as {target}: floats have no exact integer value")
        _check_range(values, target, f"{mntype} as {target}")
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(target)


def fill_bits(pad_type: PadType | None, mntype: MNType) -> int:
    """Raw element that fills padding of a pad type; undefined padding (None, Dirty) is filled with 0.

    Inf and NegInf of integer types are their largest and smallest values.
    """
    if pad_type in (None, PadType.DIRTY, PadType.ZERO):
        return 0
    number: float
    if pad_type is PadType.ONE:
        number = 1
    elif mntype.is_float:
        number = np.inf if pad_type is PadType.INF else -np.inf
    else:
        limits = np.iinfo(mntype.host_dtype)
        number = limits.max if pad_type is PadType.INF else limits.min
    host = np.array(number, dtype=mntype.host_dtype)
    return int(encode(host, mntype))


def _check_integers(array: NDArray[Any], mntype: MNType) -> None:
    if array.dtype.kind == "f":
        raise DtypeError(f"cannot encode {array.dtype} as {mntype}: convert to integers first")
    _check_range(array, mntype.host_dtype, str(mntype))


def _check_range(array: NDArray[Any], target: np.dtype[Any], what: str) -> None:
    """DtypeError naming the first element that `target` cannot hold."""
    if array.dtype.kind == "b" or not array.size:
        return
    limits = np.iinfo(target)
    lowest, highest = int(array.min()), int(array.max())
    if lowest < limits.min or highest > limits.max:
        wrong = lowest if lowest < limits.min else highest
        where = np.unravel_index(int(np.argmax(array == wrong)), array.shape)
        index = f"[{', '.join(str(int(i)) for i in where)}]"
        raise DtypeError(f"element {index} = {wrong} does not fit {what}, which holds {limits.min}..{limits.max}")
