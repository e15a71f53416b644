"""Expected values of a judge test case: parsing, decoding of results, comparison (isa.md 16.2)."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

from isa.errors import IsaError

Value = int | float
_ITEM = re.compile(r"#\s*[^=#]*=(?P<values>.*?)\s*/\s*(?P<dtype>\w+)\s*@(?P<indices>\[[^=]*\])(?P<rest>.*)$")
_TOLERANCE = re.compile(r"(atol|rtol)=(\S+)")
_RESULT = re.compile(r":\((?:.*?)\) \(0x([0-9a-fA-F]+)\)")


class JudgeError(IsaError):
    """A test case that cannot be read, or a result line that holds no value."""


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type: `count` elements in a long word; `exponent` is the size of a float's exponent field, else 0."""

    count: int
    signed: bool = False
    exponent: int = 0

    def decode(self, lw: int) -> list[Value]:
        """The elements of a long word, first one most significant."""
        bits = 64 // self.count
        raw = [lw >> 64 - bits * (i + 1) & ((1 << bits) - 1) for i in range(self.count)]
        if self.exponent:
            return [self._number(x, bits) for x in raw]
        return [x - (1 << bits) if self.signed and x >> bits - 1 else x for x in raw]

    def _number(self, raw: int, bits: int) -> float:
        """Every zero and every infinity encoding counts as its kind: exponent 0 and all ones drop the mantissa."""
        mantissa = bits - 1 - self.exponent
        field = raw >> mantissa & ((1 << self.exponent) - 1)
        sign = -1.0 if raw >> bits - 1 else 1.0
        if field == 0:
            return sign * 0.0
        if field == (1 << self.exponent) - 1:
            return sign * math.inf
        bias = (1 << self.exponent - 1) - 1
        return sign * math.ldexp(1 << mantissa | raw & ((1 << mantissa) - 1), field - bias - mantissa)


DTYPES = {
    "ULong": Dtype(1),
    "UInt": Dtype(2),
    "UShort": Dtype(4),
    "UByte": Dtype(8),
    "Long": Dtype(1, signed=True),
    "Int": Dtype(2, signed=True),
    "Short": Dtype(4, signed=True),
    "Byte": Dtype(8, signed=True),
    "Double": Dtype(1, exponent=11),
    "Float": Dtype(2, exponent=8),
    "Half": Dtype(4, exponent=6),
    "E4M3": Dtype(8, exponent=4),
    "E5M2": Dtype(8, exponent=5),
    "String": Dtype(8),
}


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expected result line: its values, their type, the elements they are, and tolerances."""

    values: tuple[Value, ...]
    dtype: str
    indices: str
    atol: float = 0.0
    rtol: float = 0.0


def _values(text: str, dtype: str) -> tuple[Value, ...]:
    try:
        parsed = ast.literal_eval(re.sub(r"\binf\b", "1e999", text.strip()))
    except (ValueError, SyntaxError):
        raise JudgeError(f"`{text}` is no list of values: expected a Python list such as [1, 2.5, -inf]") from None
    if isinstance(parsed, (str, bytes)):
        data = parsed.encode("latin-1") if isinstance(parsed, str) else parsed
        return tuple(data.ljust(DTYPES[dtype].count, b"\0"))
    return tuple(parsed) if isinstance(parsed, (list, tuple)) else (parsed,)


def parse_item(line: str) -> Expectation | None:
    """The expectation in the comment of a test-case line, None if it has none.  Raises JudgeError."""
    match = _ITEM.search(line)
    if match is None:
        return None
    dtype = match["dtype"]
    if dtype not in DTYPES:
        raise JudgeError(f"unknown type `{dtype}`: expected one of {', '.join(DTYPES)}")
    tolerances = {name: float(text) for name, text in _TOLERANCE.findall(match["rest"])}
    return Expectation(_values(match["values"], dtype), dtype, match["indices"].strip(), **tolerances)


def result_values(line: str, dtype: str) -> list[Value]:
    """The elements that a typed dump line shows.  Raises JudgeError."""
    match = _RESULT.search(line)
    if match is None:
        raise JudgeError(f"`{line}` shows no long word: expected a dump of `d getd`")
    return DTYPES[dtype].decode(int(match[1], 16))


def close(actual: Value, expected: Value, atol: float, rtol: float) -> bool:
    """Equal, or within one of the two tolerances."""
    if actual == expected:
        return True
    difference = abs(actual - expected)
    return difference <= atol or difference <= rtol * abs(expected)
