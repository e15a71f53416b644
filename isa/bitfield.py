"""Writing and reading of bit fields, most significant first; the text form is hexadecimal."""

from __future__ import annotations

from isa.errors import IsaError


class EncodingError(IsaError):
    """A program line that has no encoding, or a stream line that is none."""


class BitWriter:
    """Collects fields."""

    def __init__(self) -> None:
        self._value = 0
        self._bits = 0

    def put(self, value: int, bits: int, name: str) -> None:
        """Append a field; EncodingError when `value` does not fit."""
        if not 0 <= value < 1 << bits:
            raise EncodingError(f"{name} is {value}: the field holds 0..{(1 << bits) - 1}")
        self._value = self._value << bits | value
        self._bits += bits

    def optional(self, value: int | None, bits: int, name: str) -> None:
        """A presence bit and, if present, the field."""
        self.put(value is not None, 1, name)
        if value is not None:
            self.put(value, bits, name)

    def hex(self) -> str:
        """Everything so far, padded with zero bits to whole bytes."""
        pad = -self._bits % 8
        return f"{self._value << pad:0{(self._bits + pad) // 4}x}"


class BitReader:
    """Takes fields in the order they were written."""

    def __init__(self, text: str) -> None:
        try:
            self._value = int(text, 16)
        except ValueError:
            raise EncodingError(f"`{text[:40]}` is no hexadecimal payload") from None
        self._left = 4 * len(text)

    def get(self, bits: int) -> int:
        """The next field."""
        if bits > self._left:
            raise EncodingError("the payload ends inside a field")
        self._left -= bits
        return self._value >> self._left & ((1 << bits) - 1)

    def optional(self, bits: int) -> int | None:
        """A presence bit and its field."""
        return self.get(bits) if self.get(1) else None

    def finish(self) -> None:
        """Nothing but padding may be left."""
        if self._left >= 8 or self._value & ((1 << self._left) - 1):
            raise EncodingError("the payload goes on behind its last field")
