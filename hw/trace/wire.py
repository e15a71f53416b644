"""The protobuf wire format, as far as traces need it: single fields, and whole columns of equally long messages.

A varint may be padded with continuation bytes, so a message whose varints have fixed widths has a fixed length and
thousands of such messages are one NumPy matrix.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bytes2D = NDArray[np.uint8]


_SMALL = tuple(bytes((value,)) for value in range(0x80))


def varint(value: int) -> bytes:
    """A non-negative integer."""
    if value < 0x80:
        return _SMALL[value]
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def field_int(number: int, value: int) -> bytes:
    """An integer, enum or bool field."""
    return varint(number << 3) + varint(value)


def field_bytes(number: int, value: bytes | str) -> bytes:
    """A message, string or bytes field."""
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def field_fixed64(number: int, value: int) -> bytes:
    """A fixed64 field."""
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def field_double(number: int, value: float) -> bytes:
    """A double field."""
    return varint(number << 3 | 1) + struct.pack("<d", value)


def column_int(number: int, values: NDArray[np.int64], width: int) -> Bytes2D:
    """One integer field per row, its varint padded to `width` bytes (7 bits each); shape [n, tag + width]."""
    shifted = values[:, None] >> (7 * np.arange(width, dtype=np.int64))
    digits = (shifted & 0x7F).astype(np.uint8)
    digits[:, :-1] |= 0x80
    return columns([varint(number << 3), digits], len(values))


def column_message(number: int, body: Bytes2D) -> Bytes2D:
    """One message field per row around equally long bodies."""
    return columns([varint(number << 3 | 2) + varint(body.shape[1]), body], len(body))


def columns(parts: Sequence[bytes | Bytes2D], rows: int) -> Bytes2D:
    """Parts side by side; a `bytes` part is the same in every row."""
    blocks = [
        np.broadcast_to(np.frombuffer(part, dtype=np.uint8), (rows, len(part))) if isinstance(part, bytes) else part
        for part in parts
    ]
    return np.concatenate(blocks, axis=1)
