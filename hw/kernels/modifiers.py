"""Input modifiers, SOURCE kernels: `NEG[prec]`, `WIDEN[(lanes, rule)]`, `NARROW_RAW` (isa.md 9.2, numerics.md 8).

WIDEN lanes: "h4" four halves of LW0 -> four singles of the 2LW; "h2" two halves of w0 -> two singles of LW0; "f" the
single of w0 -> the double of LW0 (LW1 = 0 for both).  Rules: "value" (zero becomes +0), "keep_zero_sign", "raw".
NARROW_RAW: the four singles of the 2LW -> four halves in LW0, LW1 = 0.  A SOURCE reference ignores everything but x.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hw.formats import precision, words
from hw.formats.descriptor import DOUBLE, FLOATS, HALF, SINGLE, FloatFormat
from hw.kernels import fields
from hw.kernels.abi import LANES, TILE, Kernel, Kind
from hw.kernels.bits import HALFWORD, U0, WORD, U
from hw.kernels.fields import narrow_single_raw
from hw.kernels.reference import LongPair, per_pe

_S16, _S32, _S48 = U(16), U(32), U(48)


def _negate_body(mask: Any) -> Any:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(TILE):
            out[i] = s0[i] ^ mask

    return body


def _negate(prec: str) -> Kernel:
    fmt = FLOATS[prec]
    mask = words.join([fmt.sign_bit] * (64 // fmt.bits), fmt.bits)
    reference = per_pe(lambda pair: (pair[0] ^ mask, pair[1] ^ mask))
    return Kernel(f"neg.{prec}", Kind.SOURCE, _negate_body(U(mask)), reference)


def _widen_four(widen: Any) -> Any:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            x = s0[i]
            out[i] = widen(x >> _S48) << _S32 | widen(x >> _S32 & HALFWORD)
            out[LANES + i] = widen(x >> _S16 & HALFWORD) << _S32 | widen(x & HALFWORD)

    return body


def _widen_two(widen: Any) -> Any:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            x = s0[i]
            out[i] = widen(x >> _S48) << _S32 | widen(x >> _S32 & HALFWORD)
            out[LANES + i] = U0

    return body


def _widen_one(widen: Any) -> Any:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            out[i] = widen(s0[i] >> _S32)
            out[LANES + i] = U0

    return body


_RULES: dict[str, tuple[Any, Any, Callable[[int, FloatFormat, FloatFormat], int]]] = {
    "value": (fields.widen_half_value, fields.widen_single_value, precision.value_widen),
    "keep_zero_sign": (
        fields.widen_half_signed,
        fields.widen_single_signed,
        partial(precision.value_widen, keep_zero_sign=True),
    ),
    "raw": (fields.widen_half_raw, fields.widen_single_raw, precision.raw_widen),
}


def _widen(lanes: str, rule: str) -> Kernel:
    half, single, slow = _RULES[rule]

    def element(pair: LongPair) -> LongPair:
        if lanes == "f":
            return slow(pair[0] >> 32, SINGLE, DOUBLE), 0
        wide = [slow(x, HALF, SINGLE) for x in words.split(pair[0], 16)]
        return words.join(wide[:2], 32), words.join(wide[2:], 32) if lanes == "h4" else 0

    body = {"h4": _widen_four, "h2": _widen_two, "f": _widen_one}[lanes](single if lanes == "f" else half)
    return Kernel(f"widen.{lanes}.{rule}", Kind.SOURCE, body, per_pe(element))


def _narrow_body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    for i in range(LANES):
        x, y = s0[i], s0[LANES + i]
        high = narrow_single_raw(x >> _S32) << _S48 | narrow_single_raw(x & WORD) << _S32
        out[i] = high | narrow_single_raw(y >> _S32) << _S16 | narrow_single_raw(y & WORD)
        out[LANES + i] = U0


def _narrow_reference(pair: LongPair) -> LongPair:
    singles = words.split(pair[0], 32) + words.split(pair[1], 32)
    return words.join([precision.raw_narrow(x) for x in singles], 16), 0


NEG: dict[str, Kernel] = {prec: _negate(prec) for prec in FLOATS}
WIDEN: dict[tuple[str, str], Kernel] = {
    (lanes, rule): _widen(lanes, rule) for lanes in ("h4", "h2", "f") for rule in _RULES
}
NARROW_RAW = Kernel("narrow.raw", Kind.SOURCE, _narrow_body, per_pe(_narrow_reference))
