"""MAU vector operations (isa.md 9.3, numerics.md 3): `MAU_VECTOR[(op, prec, narrow, half)]`.

op vfma, vmul, vadd, vpassa; prec d, f, h; narrow = opcode `r`; half "u" or "d" for double vfma and vmul, else "".
Sources in the order of the operands: x, y, z; for vadd the second is the addend (single for h).  LW1 of results that
fill LW0 only is 0.  Flag = NOT sign of each output element (isa.md 4.5).
"""

from __future__ import annotations

from typing import Any

from hw.formats import multiply_add, words
from hw.formats.descriptor import FLOATS, NARROWER, FloatFormat
from hw.kernels.abi import LANES, Kernel, Kind
from hw.kernels.bits import HALFWORD, U0, U1, WORD, U
from hw.kernels.mau_double import double_body
from hw.kernels.mau_single import FACTORS, MAKERS
from hw.kernels.reference import Lanes, LongPair, Matrix, Reference, Result

_S16, _S31, _S32, _S48 = U(16), U(31), U(32), U(48)
_HIGH_PAIR, _LOW_PAIR = U(12), U(3)
_B1, _B2, _B3, _S15 = U(1), U(2), U(3), U(15)


def _single_wide(element: Any) -> Any:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            x, y, z = s0[i], s1[i], s2[i]
            a = element(x >> _S32, y >> _S32, z >> _S32)
            b = element(x & WORD, y & WORD, z & WORD)
            out[i] = a << _S32 | b
            out[LANES + i] = U0
            flags[i] = (a >> _S31 ^ U1) * _HIGH_PAIR | (b >> _S31 ^ U1) * _LOW_PAIR

    return body


def _single_narrow(element: Any) -> Any:
    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            x, y, z = s0[i], s1[i], s2[i]
            a = element(x >> _S32, y >> _S32, z >> _S32)
            b = element(x & WORD, y & WORD, z & WORD)
            out[i] = a << _S48 | b << _S32
            out[LANES + i] = U0
            flags[i] = (a >> _S15 ^ U1) << _B3 | (b >> _S15 ^ U1) << _B2

    return body


def _half_body(element: Any, narrow: bool, addend_is_y: bool) -> Any:
    """Four halves of LW0 with four single addends of the 2LW (z, or y of vadd)."""
    sign = _S15 if narrow else _S31

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(LANES):
            x = s0[i]
            if addend_is_y:
                y, z0, z1 = U0, s1[i], s1[LANES + i]
            else:
                y, z0, z1 = s1[i], s2[i], s2[LANES + i]
            a = element(x >> _S48, y >> _S48, z0 >> _S32)
            b = element(x >> _S32 & HALFWORD, y >> _S32 & HALFWORD, z0 & WORD)
            c = element(x >> _S16 & HALFWORD, y >> _S16 & HALFWORD, z1 >> _S32)
            d = element(x & HALFWORD, y & HALFWORD, z1 & WORD)
            if narrow:
                out[i] = a << _S48 | b << _S32 | c << _S16 | d
                out[LANES + i] = U0
            else:
                out[i] = a << _S32 | b
                out[LANES + i] = c << _S32 | d
            high = (a >> sign ^ U1) << _B3 | (b >> sign ^ U1) << _B2
            flags[i] = high | (c >> sign ^ U1) << _B1 | (d >> sign ^ U1)

    return body


def _swap_addend(add: Any) -> Any:
    """vadd with the addend in the place of z."""

    def element(x: Any, y: Any, z: Any) -> Any:
        return add(x, z, y)

    return element


def _body(op: str, prec: str, narrow: bool, half: str, out: FloatFormat) -> Any:
    if prec == "d":
        return double_body(op, out, half)
    element = MAKERS[op](FACTORS[prec], out)
    if prec == "f":
        return (_single_narrow if narrow else _single_wide)(element)
    return _half_body(_swap_addend(element) if op == "vadd" else element, narrow, op == "vadd")


def _elements(pair: LongPair, fmt: FloatFormat, count: int) -> list[int]:
    return (words.split(pair[0], fmt.bits) + words.split(pair[1], fmt.bits))[:count]


def pack_results(results: list[int], fmt: FloatFormat) -> tuple[LongPair, int]:
    """Result elements of one PE -> (LW0, LW1) and the four flag bits (isa.md 4.5, 9.3)."""
    per_lw = 64 // fmt.bits
    pair = words.join(results[:per_lw], fmt.bits), words.join(results[per_lw:], fmt.bits)
    flags = [1 - (result >> (fmt.bits - 1)) for result in results]
    fills_w0_only = len(results) * fmt.bits == 32
    if fills_w0_only:
        return pair, (flags[0] << 3) | (flags[-1] << 2)
    return pair, words.spread_flags(flags, 64 // len(results))


def _reference(op: str, prec: str, half: str, out: FloatFormat) -> Reference:
    factor, addend = FLOATS[prec], multiply_add.accumulator(prec)
    count = {"d": 1, "f": 2, "h": 4}[prec]
    one = multiply_add.one(prec)

    def element(x: int, y: int, z: int, active: bool) -> int:
        match op:
            case "vfma":
                return multiply_add.fma(x if active else 0, y, z, prec, out)
            case "vmul":
                return multiply_add.fma(x if active else 0, y, 0, prec, out)
            case "vadd":
                return multiply_add.fma(x, one, y, prec, out)
        return multiply_add.fma(x, one, 0, prec, out)

    def reference(x: Lanes, y: Lanes, z: Lanes, mat: Matrix, par: tuple[int, ...]) -> Result:
        pairs, flags = [], []
        for p in range(4):
            xs, zs = _elements(x[p], factor, count), _elements(z[p], addend, count)
            ys = _elements(y[p], addend if op == "vadd" else factor, count)
            active = half == "" or (half == "u") == (p < 2)
            pair, bits = pack_results([element(*e, active) for e in zip(xs, ys, zs, strict=True)], out)
            pairs.append(pair)
            flags.append(bits)
        return pairs, flags

    return reference


def _kernel(op: str, prec: str, narrow: bool, half: str) -> Kernel:
    out = NARROWER[multiply_add.accumulator(prec).letter] if narrow else multiply_add.accumulator(prec)
    return Kernel(
        name=f"mau.{prec}{op}{half}{'r' * narrow}",
        kind=Kind.LANES,
        body=_body(op, prec, narrow, half, out),
        reference=_reference(op, prec, half, out),
        has_flags=True,
    )


def _build() -> dict[tuple[str, str, bool, str], Kernel]:
    table: dict[tuple[str, str, bool, str], Kernel] = {}
    for op in ("vfma", "vmul", "vadd", "vpassa"):
        for prec in FLOATS:
            for half in ("u", "d") if prec == "d" and op in ("vfma", "vmul") else ("",):
                for narrow in (False, True):
                    table[op, prec, narrow, half] = _kernel(op, prec, narrow, half)
    return table


MAU_VECTOR: dict[tuple[str, str, bool, str], Kernel] = _build()
