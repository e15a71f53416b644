"""Integer ALU operations on elements of 64, 32 or 16 bits, with their flags (numerics.md 9, isa.md 4.5, 11.2-11.4)."""

from __future__ import annotations


def signed(x: int, bits: int) -> int:
    """Two's complement value of a pattern."""
    return x - (1 << bits) if x >> (bits - 1) else x


def apply(op: str, x: int, y: int, bits: int, unsigned: bool) -> tuple[int, int]:
    """Result pattern and flag of one element; `y` is ignored by unary operations.

    Raises ValueError for an unknown operation.
    """
    if op in ("inc", "dec", "add", "sub"):
        return _additive(op, x, y, bits, unsigned)
    if op in ("lsl", "lsr", "bsl", "bsr"):
        result = _shift(op, x, y % (2 * bits), bits, unsigned)
        return result, int(result == 0)
    if op in ("max", "min"):
        a, b = (x, y) if unsigned else (signed(x, bits), signed(y, bits))
        takes_x = a >= b if op == "max" else a <= b
        return (x if takes_x else y), int(takes_x)
    if op == "packbit":
        top = y >> (bits - 1)
        return (x << 1 | top) & ((1 << bits) - 1), 1 - top
    result = _bitwise(op, x, y, (1 << bits) - 1)
    return result, int(result == 0)


def _additive(op: str, x: int, y: int, bits: int, unsigned: bool) -> tuple[int, int]:
    exact = {"inc": x + 1, "dec": x - 1, "add": x + y, "sub": x - y}[op]
    result = exact % (1 << bits)
    return result, int(exact == result) if unsigned else 1 - (result >> (bits - 1))


def _shift(op: str, x: int, count: int, bits: int, unsigned: bool) -> int:
    """Shift by 0..2*bits-1 (isa.md 11.3); rotates take the count modulo the width."""
    mask = (1 << bits) - 1
    if op == "lsl":
        return (x << count) & mask
    if op == "lsr":
        return x >> count if unsigned else (signed(x, bits) >> count) & mask
    left = count % bits if op == "bsl" else -count % bits
    return (x << left | x >> (bits - left)) & mask


def _bitwise(op: str, x: int, y: int, mask: int) -> int:
    match op:
        case "passa":
            return x
        case "not":
            return x ^ mask
        case "lnot":
            return int(x == 0)
        case "and":
            return x & y
        case "or":
            return x | y
        case "xor":
            return x ^ y
    raise ValueError(f"unknown integer operation {op!r}")
