"""Integer ALU operations (isa.md 11.2-11.4): `ALU_INT[(op, prec, unsigned)]`, prec l, i, s.

Every combination exists; where `u` changes nothing both keys name the same kernel.  Result LW1 is LW1 of the first
source.
"""

from __future__ import annotations

from typing import Any

from hw.formats import integer
from hw.formats.descriptor import INTEGER_BITS
from hw.kernels.abi import Kernel, Kind
from hw.kernels.alu_body import make_body
from hw.kernels.bits import U0, U1, I, U
from hw.kernels.reference import elementwise

_N64 = U(64)
_LAST = U(63)
_ONES = U(0xFFFFFFFFFFFFFFFF)


def _extend(x: Any, n: Any) -> Any:
    """Sign-extended element as int64."""
    return I(x << (_N64 - n)) >> I(_N64 - n)


def _passa(x: Any, y: Any, n: Any) -> Any:
    return x


def _inc(x: Any, y: Any, n: Any) -> Any:
    return x + U1


def _dec(x: Any, y: Any, n: Any) -> Any:
    return x - U1


def _not(x: Any, y: Any, n: Any) -> Any:
    return x ^ _ONES


def _lnot(x: Any, y: Any, n: Any) -> Any:
    return U1 if x == U0 else U0


def _and(x: Any, y: Any, n: Any) -> Any:
    return x & y


def _or(x: Any, y: Any, n: Any) -> Any:
    return x | y


def _xor(x: Any, y: Any, n: Any) -> Any:
    return x ^ y


def _add(x: Any, y: Any, n: Any) -> Any:
    return x + y


def _sub(x: Any, y: Any, n: Any) -> Any:
    return x - y


def _lsl(x: Any, y: Any, n: Any) -> Any:
    count = y & (n + n - U1)
    return x << (count & _LAST) if count < n else U0


def _lsr_signed(x: Any, y: Any, n: Any) -> Any:
    count = y & (n + n - U1)
    return U(_extend(x, n) >> I(count if count < n else _LAST))


def _lsr_unsigned(x: Any, y: Any, n: Any) -> Any:
    count = y & (n + n - U1)
    return x >> (count & _LAST) if count < n else U0


def _bsl(x: Any, y: Any, n: Any) -> Any:
    count = y & (n - U1)
    return x << count | x >> ((n - count) & _LAST)


def _bsr(x: Any, y: Any, n: Any) -> Any:
    count = y & (n - U1)
    return x >> count | x << ((n - count) & _LAST)


def _max_signed(x: Any, y: Any, n: Any) -> Any:
    return x if _extend(x, n) >= _extend(y, n) else y


def _min_signed(x: Any, y: Any, n: Any) -> Any:
    return x if _extend(x, n) <= _extend(y, n) else y


def _max_unsigned(x: Any, y: Any, n: Any) -> Any:
    return x if x >= y else y


def _min_unsigned(x: Any, y: Any, n: Any) -> Any:
    return x if x <= y else y


def _packbit(x: Any, y: Any, n: Any) -> Any:
    return x << U1 | y >> (n - U1)


def _is_zero(x: Any, y: Any, r: Any, n: Any) -> Any:
    return U1 if r == U0 else U0


def _is_positive(x: Any, y: Any, r: Any, n: Any) -> Any:
    return (r >> (n - U1)) ^ U1


def _y_is_positive(x: Any, y: Any, r: Any, n: Any) -> Any:
    return (y >> (n - U1)) ^ U1


def _no_carry(x: Any, y: Any, r: Any, n: Any) -> Any:
    return U1 if r >= x else U0


def _no_carry_inc(x: Any, y: Any, r: Any, n: Any) -> Any:
    return U1 if r != U0 else U0


def _no_borrow(x: Any, y: Any, r: Any, n: Any) -> Any:
    return U1 if r <= x else U0


def _takes_x(x: Any, y: Any, r: Any, n: Any) -> Any:
    return U1 if r == x else U0


# op: (signed op, signed flag, unsigned op, unsigned flag)
_TABLE: dict[str, tuple[Any, Any, Any, Any]] = {
    "passa": (_passa, _is_zero, _passa, _is_zero),
    "inc": (_inc, _is_positive, _inc, _no_carry_inc),
    "dec": (_dec, _is_positive, _dec, _no_borrow),
    "not": (_not, _is_zero, _not, _is_zero),
    "lnot": (_lnot, _is_zero, _lnot, _is_zero),
    "and": (_and, _is_zero, _and, _is_zero),
    "or": (_or, _is_zero, _or, _is_zero),
    "xor": (_xor, _is_zero, _xor, _is_zero),
    "add": (_add, _is_positive, _add, _no_carry),
    "sub": (_sub, _is_positive, _sub, _no_borrow),
    "lsl": (_lsl, _is_zero, _lsl, _is_zero),
    "lsr": (_lsr_signed, _is_zero, _lsr_unsigned, _is_zero),
    "bsl": (_bsl, _is_zero, _bsl, _is_zero),
    "bsr": (_bsr, _is_zero, _bsr, _is_zero),
    "max": (_max_signed, _takes_x, _max_unsigned, _takes_x),
    "min": (_min_signed, _takes_x, _min_unsigned, _takes_x),
    "packbit": (_packbit, _y_is_positive, _packbit, _y_is_positive),
}

INTEGER_OPS = tuple(_TABLE)


def _kernel(op: str, prec: str, unsigned: bool) -> Kernel:
    bits = INTEGER_BITS[prec]
    function, flag = _TABLE[op][2 * unsigned : 2 * unsigned + 2]

    def element(x: int, y: int) -> tuple[int, int]:
        return integer.apply(op, x, y, bits, unsigned)

    return Kernel(
        name=f"alu.{'u' * unsigned}{prec}{op}",
        kind=Kind.LANES,
        body=make_body(function, flag, bits),
        reference=elementwise(element, bits),
        has_flags=True,
    )


def _build() -> dict[tuple[str, str, bool], Kernel]:
    table: dict[tuple[str, str, bool], Kernel] = {}
    for op, (function, flag, unsigned_function, unsigned_flag) in _TABLE.items():
        same = (function, flag) == (unsigned_function, unsigned_flag)
        for prec in INTEGER_BITS:
            table[op, prec, False] = _kernel(op, prec, False)
            table[op, prec, True] = table[op, prec, False] if same else _kernel(op, prec, True)
    return table


ALU_INT: dict[tuple[str, str, bool], Kernel] = _build()
