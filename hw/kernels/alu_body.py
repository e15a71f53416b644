"""Body factories of element-wise ALU operations: 64-, 32- and 16-bit elements of LW0; LW1 is the first source's.

`op(x, y, n)` and `flag(x, y, r, n)` get zero-extended elements and the width n as uint64; `op` may leave junk above bit
n-1, `flag` returns 0 or 1 of the masked result.  Both are inlined, so n is a constant and unused operands cost nothing.
Flag bits per element: 4, 2 or 1 (isa.md 4.5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hw.kernels.abi import LANES
from hw.kernels.bits import HALFWORD, WORD, U

Body = Callable[..., None]

_N64, _N32, _N16 = U(64), U(32), U(16)
_S16, _S32, _S48 = U(16), U(32), U(48)
_B1, _B2, _B3 = U(1), U(2), U(3)
_F64, _F32_HIGH, _F32_LOW = U(15), U(12), U(3)


def _body64(op: Any, flag: Any) -> Body:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            x, y = s0[i], s1[i]
            r = op(x, y, _N64)
            out[i] = r
            out[LANES + i] = s0[LANES + i]
            flags[i] = flag(x, y, r, _N64) * _F64

    return body


def _body32(op: Any, flag: Any) -> Body:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            x, y = s0[i], s1[i]
            xa, ya = x >> _S32, y >> _S32
            xb, yb = x & WORD, y & WORD
            ra = op(xa, ya, _N32) & WORD
            rb = op(xb, yb, _N32) & WORD
            out[i] = ra << _S32 | rb
            out[LANES + i] = s0[LANES + i]
            flags[i] = flag(xa, ya, ra, _N32) * _F32_HIGH | flag(xb, yb, rb, _N32) * _F32_LOW

    return body


def _body16(op: Any, flag: Any) -> Body:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            x, y = s0[i], s1[i]
            xa, ya = x >> _S48, y >> _S48
            xb, yb = x >> _S32 & HALFWORD, y >> _S32 & HALFWORD
            xc, yc = x >> _S16 & HALFWORD, y >> _S16 & HALFWORD
            xd, yd = x & HALFWORD, y & HALFWORD
            ra = op(xa, ya, _N16) & HALFWORD
            rb = op(xb, yb, _N16) & HALFWORD
            rc = op(xc, yc, _N16) & HALFWORD
            rd = op(xd, yd, _N16) & HALFWORD
            out[i] = ra << _S48 | rb << _S32 | rc << _S16 | rd
            out[LANES + i] = s0[LANES + i]
            high = flag(xa, ya, ra, _N16) << _B3 | flag(xb, yb, rb, _N16) << _B2
            flags[i] = high | flag(xc, yc, rc, _N16) << _B1 | flag(xd, yd, rd, _N16)

    return body


def make_body(op: Any, flag: Any, bits: int) -> Body:
    """Body of an element-wise operation on elements of 64, 32 or 16 bits."""
    return {64: _body64, 32: _body32, 16: _body16}[bits](op, flag)


def map_elements(op: Any, bits: int) -> Any:
    """A function of two long words that applies `op(x, y, n)` to their elements of 64, 32 or 16 bits."""

    def one(x: Any, y: Any) -> Any:
        return op(x, y, _N64)

    def two(x: Any, y: Any) -> Any:
        return op(x >> _S32, y >> _S32, _N32) << _S32 | op(x & WORD, y & WORD, _N32) & WORD

    def four(x: Any, y: Any) -> Any:
        a = op(x >> _S48, y >> _S48, _N16) << _S48
        b = (op(x >> _S32 & HALFWORD, y >> _S32 & HALFWORD, _N16) & HALFWORD) << _S32
        c = (op(x >> _S16 & HALFWORD, y >> _S16 & HALFWORD, _N16) & HALFWORD) << _S16
        return a | b | c | op(x & HALFWORD, y & HALFWORD, _N16) & HALFWORD

    return {64: one, 32: two, 16: four}[bits]


def make_silent_body(op: Any, bits: int) -> Body:
    """Body of an element-wise operation without flags."""
    function = map_elements(op, bits)

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            out[i] = function(s0[i], s1[i])
            out[LANES + i] = s0[LANES + i]

    return body
