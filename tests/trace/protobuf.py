"""A reader of the protobuf wire format that knows no schema, so that it shares nothing with the writer."""

from __future__ import annotations

import struct
from collections import defaultdict


class Message:
    """One message: raw values of its fields by number."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = defaultdict(list)
        at = 0
        while at < len(data):
            key, at = _varint(data, at)
            value: int | bytes
            match key & 7:
                case 0:
                    value, at = _varint(data, at)
                case 1:
                    value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
                case 2:
                    length, at = _varint(data, at)
                    value, at = data[at : at + length], at + length
                    assert len(value) == length
                case wire:
                    raise AssertionError(f"wire type {wire}")
            self._fields[key >> 3].append(value)

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def numbers(self, field: int) -> list[int]:
        return [value for value in self._fields.get(field, []) if isinstance(value, int)]

    def number(self, field: int) -> int:
        (value,) = self.numbers(field)
        return value

    def double(self, field: int) -> float:
        (value,) = self.numbers(field)
        (number,) = struct.unpack("<d", value.to_bytes(8, "little"))
        return float(number)

    def text(self, field: int) -> str:
        (value,) = self._fields[field]
        assert isinstance(value, bytes)
        return value.decode()

    def subs(self, field: int) -> list[Message]:
        return [Message(value) for value in self._fields.get(field, []) if isinstance(value, bytes)]

    def sub(self, field: int) -> Message:
        (value,) = self.subs(field)
        return value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def messages(data: bytes) -> list[Message]:
    """The packets of a trace."""
    return Message(data).subs(1)
