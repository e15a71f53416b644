"""Values of a graph put on a board and read back: every copy in local memory, or the DRAM image."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.errors import CompilerError
from compiler.graph import Location, MNType, MNValue
from compiler.graph.dtypes import fill_bits
from compiler.layout import PadLayout, Places
from compiler.layout.image import DramImage
from hw.state import Board

Raw = NDArray[Any]


def store(board: Board, value: MNValue, raw: Raw) -> None:
    """Put raw elements (plain shape) where the value lies; padding holds what its pad type says."""
    assert value.layout is not None and value.addr is not None
    pad = fill_bits(value.pad_type, value.dtype)
    if value.loc is Location.DRAM:
        packed = DramImage(value.layout, value.dtype).pack(raw, pad)
        for group in range(4):
            board.dram[group][value.addr : value.addr + packed.shape[1]] = packed[group]
        return
    index = _elements(value.layout, value.dtype)
    padded = np.full(value.layout.padded_shape, pad, value.dtype.raw_dtype)
    padded[tuple(slice(n) for n in value.layout.shape)] = raw
    words = np.where(index < 0, value.dtype.raw_dtype.type(pad), padded.ravel()[index])
    packed_lws = np.ascontiguousarray(words[..., ::-1]).view(np.uint64)[..., 0]
    _window(board, value)[:] = packed_lws


def load(board: Board, value: MNValue) -> Raw:
    """Raw elements of the plain shape.  Raises CompilerError when copies in local memory differ."""
    assert value.layout is not None and value.addr is not None
    if value.loc is Location.DRAM:
        image = DramImage(value.layout, value.dtype)
        return image.unpack(np.stack([d[value.addr : value.addr + image.lws_per_group] for d in board.dram]))
    index = _elements(value.layout, value.dtype)
    lws = np.ascontiguousarray(_window(board, value))
    words = lws.view(value.dtype.raw_dtype).reshape(*lws.shape, value.dtype.words_per_lw)[..., ::-1]
    held = index >= 0
    padded = np.zeros(int(np.prod(value.layout.padded_shape, dtype=int)), value.dtype.raw_dtype)
    padded[index[held]] = words[held]
    inside = np.zeros(value.layout.padded_shape, bool)
    inside[tuple(slice(n) for n in value.layout.shape)] = True
    wrong = held & (padded[index] != words) & inside.ravel()[index]
    if wrong.any():
        raise CompilerError(f"{value.name}: copies of element {int(index[wrong][0])} differ")
    return padded.reshape(value.layout.padded_shape)[tuple(slice(n) for n in value.layout.shape)]


def _elements(layout: PadLayout, dtype: MNType) -> NDArray[np.int64]:
    """Flat padded index of what lies in each (L1B of the board, long word, PE, MAB, word), negative where nothing."""
    sizes = (8, 8, layout.num_lw, 4, 16, dtype.words_per_lw)
    l2b, l1b, addr, pe, mab, word = np.meshgrid(*(np.arange(n) for n in sizes), indexing="ij")
    index = layout.elements_at(Places(l2b, l1b, mab, pe, addr, word, np.zeros_like(l2b)))
    return index.reshape(64, *sizes[2:])


def _window(board: Board, value: MNValue) -> NDArray[np.uint64]:
    assert value.addr is not None
    lm = board.lm[0 if value.loc is Location.LM0 else 1]
    return lm[:, value.addr // 2 : value.addr // 2 + value.num_lw]
