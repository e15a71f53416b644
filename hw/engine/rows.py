"""Reading and writing LM and GRF: rows of 64 PEs when all use one address, lane by lane otherwise.

Address rule (isa.md 3.3, 3.5): ``(BAR + T + a + (W if p <= j)) mod size``, truncated to a multiple of the width W.
Rows are long words: word address a lies in row a >> 1, even = most significant half.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hw.engine.layout import BY_CYCLE, BY_ENTRY, UNMASKED
from hw.engine.masks import halves_mask, lane_mask_0, lane_mask_1, words_mask_0, words_mask_1
from hw.engine.native import copy_bytes, i64_at, u8_at, u64_at

_S32 = np.uint64(32)
_HIGH = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0xFFFFFFFF)
_ROW = 512  # bytes of a row of 64 PEs
_LW1 = 2048  # bytes from LW0 to LW1 in a tile


def _word_row(target: Any, row: Any, odd: Any) -> None:
    """w0 of 64 lanes <- one word of each PE; w1 = 0."""
    to, source = u64_at(target), u64_at(row)
    if odd:
        for i in range(64):
            to[i] = source[i] << _S32
    else:
        for i in range(64):
            to[i] = source[i] & _HIGH


def gather_rows(o: Any, memory: Any, target: Any) -> None:
    """GATHER with the same address for all PEs."""
    width = o[3]
    for c in range(4):
        a = o[4 + c] & (o[8] - 1)
        row = memory + (a >> 1) * _ROW
        if width == 2:
            copy_bytes(target + c * _ROW, row, 512)
        elif width == 4:
            row = memory + ((a & ~3) >> 1) * _ROW
            copy_bytes(target + c * _ROW, row, 512)
            copy_bytes(target + _LW1 + c * _ROW, row + _ROW, 512)
        else:
            _word_row(target + c * _ROW, row, a & 1)


def lane_addresses(o: Any, bar: Any, t: Any, target: Any) -> None:
    """Word address of every lane (int64[256] at `target`); `bar` and `t` are addresses of per-PE values or 0."""
    to, base, index = i64_at(target), i64_at(bar), u64_at(t)
    width, last = o[3], o[8] - 1
    for c in range(4):
        for p in range(4):
            a = o[4 + c]
            if p <= o[9]:
                a += width
            for m in range(16):
                lane = c * 64 + p * 16 + m
                x = a
                if bar != 0:
                    x += base[p * 16 + m]
                if t != 0:
                    x += np.int64(index[lane] & _LOW)
                to[lane] = x & last & ~(width - 1)


def gather_lanes(width: Any, memory: Any, addresses: Any, target: Any) -> None:
    """GATHER with an own address for every lane."""
    source, to, address = u64_at(memory), u64_at(target), i64_at(addresses)
    for lane in range(256):
        a = address[lane]
        row = (a >> 1) * 64 + (lane & 63)
        if width == 1:
            to[lane] = source[row] << _S32 if a & 1 else source[row] & _HIGH
        else:
            to[lane] = source[row]
            if width == 4:
                to[256 + lane] = source[row + 64]


def _merge_row(target: Any, source: Any, bits: Any, second: Any, words: Any) -> None:
    """64 lanes of LW0 (`second` 0) or LW1 of a 2LW, under the four bits of each lane at `bits`."""
    to, value, four = u64_at(target), u64_at(source), u8_at(bits)
    if not words:
        for i in range(64):
            mask = halves_mask(np.uint64(four[i]))
            to[i] = (to[i] & ~mask) | (value[i] & mask)
    elif second:
        for i in range(64):
            mask = words_mask_1(np.uint64(four[i]))
            to[i] = (to[i] & ~mask) | (value[i] & mask)
    else:
        for i in range(64):
            mask = words_mask_0(np.uint64(four[i]))
            to[i] = (to[i] & ~mask) | (value[i] & mask)


def _write_word_row(target: Any, source: Any, odd: Any, kind: Any, value: Any, words: Any, masks: Any, c: Any) -> None:
    """w0 of 64 lanes into one word of each PE; the two top mask bits count (isa.md 4.1)."""
    to, data, bits = u64_at(target), u64_at(source), u8_at(masks)
    for i in range(64):
        mask = lane_mask_0(kind, value, words, bits, c * 64 + i) >> _S32
        word = data[i] >> _S32
        if not odd:
            mask, word = mask << _S32, word << _S32
        to[i] = (to[i] & ~mask) | (word & mask)


def write_rows(o: Any, memory: Any, source: Any, masks: Any) -> None:
    """WRITE with the same address for all PEs; cycles in order."""
    width, kind, value, words = o[3], o[12], o[13] & 255, o[13] >> 8
    for c in range(4):
        a = o[4 + c] & (o[8] - 1)
        if width == 1:
            row = memory + (a >> 1) * _ROW
            _write_word_row(row, source + c * _ROW, a & 1, kind, value, words, masks, c)
            continue
        row = memory + ((a & ~(width - 1)) >> 1) * _ROW
        first, second = source + c * _ROW, source + _LW1 + c * _ROW
        if kind == BY_ENTRY:
            bits = masks + value * 256 + c * 64
            _merge_row(row, first, bits, 0, words)
            if width == 4 and words:
                _merge_row(row + _ROW, second, bits, 1, words)
        elif kind == UNMASKED or value >> c & 1:
            copy_bytes(row, first, 512)
        if width == 4 and (kind == UNMASKED or not words or (kind == BY_CYCLE and value >> c & 1)):
            copy_bytes(row + _ROW, second, 512)


def write_lanes(o: Any, memory: Any, source: Any, masks: Any, addresses: Any) -> None:
    """WRITE with an own address for every lane; cycles in order."""
    to, data, bits, address = u64_at(memory), u64_at(source), u8_at(masks), i64_at(addresses)
    width, kind, value, words = o[3], o[12], o[13] & 255, o[13] >> 8
    for lane in range(256):
        a = address[lane]
        row = (a >> 1) * 64 + (lane & 63)
        mask = lane_mask_0(kind, value, words, bits, lane)
        new = data[lane]
        if width == 1:
            mask >>= _S32
            new >>= _S32
            if not a & 1:
                mask <<= _S32
                new <<= _S32
        to[row] = (to[row] & ~mask) | (new & mask)
        if width == 4:
            mask = lane_mask_1(kind, value, words, bits, lane)
            to[row + 64] = (to[row + 64] & ~mask) | (data[256 + lane] & mask)


def write_t(o: Any, t: Any, source: Any, masks: Any) -> None:
    """WRITE_T: a default mask of 0 keeps the whole cycle; any other lets LW1 pass unmasked (observed)."""
    kind, value, words = o[2], o[3], o[4]
    for c in range(4):
        row, first = t + c * _ROW, source + c * _ROW
        if kind == BY_ENTRY:
            bits = masks + value * 256 + c * 64
            _merge_row(row, first, bits, 0, words)
            if words:
                _merge_row(row + _LW1, first + _LW1, bits, 1, words)
            else:
                to, data, four = u64_at(row + _LW1), u64_at(first + _LW1), u8_at(bits)
                for i in range(64):
                    to[i] = data[i] if four[i] != 0 else to[i]
        elif kind == UNMASKED or value >> c & 1:
            copy_bytes(row, first, 512)
            copy_bytes(row + _LW1, first + _LW1, 512)


def write_bar(o: Any, bar: Any, source: Any, masks: Any) -> Any:
    """WRITE_BAR: the low 12 bits of w0 (width 1) or w1 (width 2), last unmasked cycle stays; returns 1 if any is set.

    A mask acts on them as part of the low half of their word (observed).
    """
    to, data, bits = i64_at(bar), u64_at(source), u8_at(masks)
    shift = _S32 if o[3] == 1 else np.uint64(0)
    for c in range(4):
        for i in range(64):
            lane = c * 64 + i
            mask = np.int64(lane_mask_0(o[4], o[5], o[6], bits, lane) >> shift & np.uint64(0xFFF))
            new = np.int64(data[lane] >> shift & np.uint64(0xFFF))
            to[i] = (to[i] & ~mask) | (new & mask)
    used = np.int64(0)
    for i in range(64):
        used |= to[i]
    return 1 if used != 0 else 0


def flush(o: Any, tile: Any, masks: Any) -> None:
    """FLUSH: clear what the mask does not keep; LW1 only under an `ll` mask (isa.md 4.4)."""
    data, bits = u64_at(tile), u8_at(masks)
    kind, value, words = o[2], o[3], o[4]
    for lane in range(256):
        data[lane] &= lane_mask_0(kind, value, words, bits, lane)
    if words:
        for lane in range(256):
            data[256 + lane] &= lane_mask_1(kind, value, words, bits, lane)


def write_mask_register(o: Any, masks: Any, flags: Any) -> None:
    """WRITE_MASK: flags AND mask; the old bits are not kept (isa.md 19.1)."""
    registers, new = u8_at(masks), u8_at(flags)
    entry, kind, value = o[1] * 256, o[3], o[4]
    for lane in range(256):
        bits = new[lane]
        if kind == BY_CYCLE:
            bits = bits if value >> (lane >> 6) & 1 else np.uint8(0)
        elif kind == BY_ENTRY:
            bits = bits & registers[value * 256 + lane]
        registers[entry + lane] = bits
