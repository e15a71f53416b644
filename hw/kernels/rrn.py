"""Reduction circuits (numerics.md 4): `RRN[(prec, op)]` and `RRN_NARROW[op]`, REDUCE kernels.

par[0] = n inputs, par[1] = count of output long words.  RRN reads s0[n][count].  Legal keys: fadd, max, min with d,
f, h; iadd, band, bor, and, or with l, i, s.

RRN_NARROW (`r` of `l1bmr`: single -> half at the last stage; fadd, max, min) reads s0[n][2*count]: of each input
first the `count` long words w = 0, then the `count` long words w = 1 of the same PEs.  out[j] packs, most significant
first, the halves of w0 high word, w0 low word, w1 high word, w1 low word of column j.  fadd rounds the exact stage
sum once; max and min narrow the winner by the raw rule.  Its reference takes a list of (w0, w1) pairs; absent inputs
are `unit_value` twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hw.formats import precision, reduction, words
from hw.formats.descriptor import FLOATS, HALF, INTEGER_BITS, SINGLE
from hw.kernels.abi import Kernel, Kind
from hw.kernels.alu_body import map_elements
from hw.kernels.bits import U0, U1, I, U, stack_words
from hw.kernels.fields import narrow_single_raw
from hw.kernels.rrn_fadd import fadd_body, fadd_narrow_body

_S32 = U(32)
_WORD = U(0xFFFFFFFF)
_FLOAT_OPS = ("fadd", "max", "min")
_INTEGER_OPS = ("iadd", "band", "bor", "and", "or")


def _key(x: Any, n: Any) -> Any:
    """Sign-magnitude order as int64: positive patterns as they are, negative ones with the magnitude inverted."""
    wide = I(x << (U(64) - n))
    return wide ^ ((wide >> I(63)) & I(0x7FFFFFFFFFFFFFFF))


def _max(x: Any, y: Any, n: Any) -> Any:
    return x if _key(x, n) >= _key(y, n) else y


def _min(x: Any, y: Any, n: Any) -> Any:
    return x if _key(x, n) <= _key(y, n) else y


def _iadd(x: Any, y: Any, n: Any) -> Any:
    return x + y


def _band(x: Any, y: Any, n: Any) -> Any:
    return x & y


def _bor(x: Any, y: Any, n: Any) -> Any:
    return x | y


def _same(x: Any, y: Any, n: Any) -> Any:
    return x


def _truth(x: Any, y: Any, n: Any) -> Any:
    return U1 if x != U0 else U0


# op: (preparation of each input, combination)
_BODIES: dict[str, tuple[Any, Any]] = {
    "max": (_same, _max),
    "min": (_same, _min),
    "iadd": (_same, _iadd),
    "band": (_same, _band),
    "bor": (_same, _bor),
    "and": (_truth, _band),
    "or": (_truth, _bor),
}


def _fold_body(op: str, bits: int) -> Any:
    prepare, combine = (map_elements(function, bits) for function in _BODIES[op])

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        n, count = par[0], par[1]
        for j in range(count):
            out[j] = prepare(s0[j], U0)
        for i in range(1, n):
            row = i * count
            for j in range(count):
                out[j] = combine(out[j], prepare(s0[row + j], U0))

    return body


def _select_narrow_body(op: str) -> Any:
    combine = map_elements(_BODIES[op][1], 32)

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        n, count = par[0], par[1]
        winners = stack_words(128)
        for start in range(0, count, 64):
            width = min(64, count - start)
            for j in range(width):
                winners[j] = s0[start + j]
                winners[64 + j] = s0[count + start + j]
            for i in range(1, n):
                row = 2 * i * count + start
                for j in range(width):
                    winners[j] = combine(winners[j], s0[row + j])
                    winners[64 + j] = combine(winners[64 + j], s0[row + count + j])
            for j in range(width):
                w0, w1 = winners[j], winners[64 + j]
                high = narrow_single_raw(w0 >> _S32) << U(48) | narrow_single_raw(w0 & _WORD) << _S32
                out[start + j] = high | narrow_single_raw(w1 >> _S32) << U(16) | narrow_single_raw(w1 & _WORD)

    return body


def _reference(op: str, prec: str) -> Callable[..., int]:
    if op in _INTEGER_OPS:
        bits = INTEGER_BITS[prec]
        function: Callable[[list[int]], int] = lambda column: reduction.integer(op, column, bits)  # noqa: E731
    else:
        fmt, bits = FLOATS[prec], FLOATS[prec].bits
        if op == "fadd":
            function = lambda column: reduction.fadd(column, fmt, fmt)  # noqa: E731
        else:
            function = lambda column: reduction.select(column, bits, largest=op == "max")  # noqa: E731

    def reference(inputs: list[int], par: tuple[int, ...]) -> int:
        columns = zip(*(words.split(long_word, bits) for long_word in inputs), strict=True)
        return words.join([function(list(column)) for column in columns], bits)

    return reference


def _narrow_reference(op: str) -> Callable[..., int]:
    def element(column: list[int]) -> int:
        if op == "fadd":
            return reduction.fadd(column, SINGLE, HALF)
        return precision.raw_narrow(reduction.select(column, 32, largest=op == "max"))

    def reference(inputs: list[tuple[int, int]], par: tuple[int, ...]) -> int:
        columns = zip(*(words.split(a, 32) + words.split(b, 32) for a, b in inputs), strict=True)
        return words.join([element(list(column)) for column in columns], 16)

    return reference


def _unit(op: str, bits: int) -> int:
    return words.join([reduction.unit_element(op, bits)] * (64 // bits), bits)


def _kernel(prec: str, op: str) -> Kernel:
    bits = INTEGER_BITS[prec] if op in _INTEGER_OPS else FLOATS[prec].bits
    body = fadd_body(FLOATS[prec]) if op == "fadd" else _fold_body(op, bits)
    return Kernel(f"rrn.{prec}{op}", Kind.REDUCE, body, _reference(op, prec), unit_value=_unit(op, bits))


def _narrow_kernel(op: str) -> Kernel:
    body = fadd_narrow_body() if op == "fadd" else _select_narrow_body(op)
    return Kernel(f"rrn.f{op}r", Kind.REDUCE, body, _narrow_reference(op), unit_value=_unit(op, 32))


RRN: dict[tuple[str, str], Kernel] = {
    **{(prec, op): _kernel(prec, op) for op in _FLOAT_OPS for prec in FLOATS},
    **{(prec, op): _kernel(prec, op) for op in _INTEGER_OPS for prec in INTEGER_BITS},
}
RRN_NARROW: dict[str, Kernel] = {op: _narrow_kernel(op) for op in _FLOAT_OPS}
