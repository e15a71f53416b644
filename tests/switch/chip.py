"""Laid-out values in the local memories of a simulated board: written and read cell by cell, every copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph import MNType
from compiler.layout import PadLayout
from compiler.layout.levels import Places
from hw.engine import execute
from hw.program import Line, Step
from hw.state import Board
from isa import parse_item, parse_mv
from isa.assemble import assemble
from isa.pack import pack, vsm_text


def cells(layout: PadLayout, mntype: MNType) -> NDArray[np.int64]:
    """Flat element (plain shape) in every cell [l2b, l1b, mab, pe, lw, lane], -1 for padding and holes."""
    sizes = (8, 8, 16, 4, layout.num_lw, mntype.words_per_lw)
    q, b, m, p, a, w = np.ix_(*(np.arange(size) for size in sizes))
    padded = layout.elements_at(Places(q, b, m, p, a, w, np.zeros(1, np.int64)))
    plain = np.full(layout.padded_shape, -1, np.int64)
    count = int(np.prod(layout.shape, dtype=int))
    plain[tuple(slice(n) for n in layout.shape)] = np.arange(count).reshape(layout.shape)
    return np.where(padded < 0, -1, plain.ravel()[np.maximum(padded, 0)])


def write(board: Board, memory: int, addr: int, layout: PadLayout, mntype: MNType, raw: NDArray[Any]) -> None:
    """Put `raw` into LM `memory` at word address `addr`; padding and holes keep junk."""
    where = cells(layout, mntype)
    elements = _elements(board, memory, addr, layout, mntype)
    elements[where >= 0] = raw.ravel()[where[where >= 0]]
    lws = elements[..., ::-1].copy().view(np.uint64)[..., 0]
    _lm(board, memory)[:, :, addr // 2 : addr // 2 + layout.num_lw] = lws.transpose(0, 1, 4, 3, 2)


def check(board: Board, memory: int, addr: int, layout: PadLayout, mntype: MNType, raw: NDArray[Any]) -> None:
    """Every copy of every element must hold the bits of `raw`."""
    where = cells(layout, mntype)
    elements = _elements(board, memory, addr, layout, mntype)
    held = where >= 0
    np.testing.assert_array_equal(elements[held], raw.ravel()[where[held]], err_msg=str(layout))


def _lm(board: Board, memory: int) -> NDArray[np.uint64]:
    return board.lm[memory].reshape(8, 8, -1, 4, 16)


def _elements(board: Board, memory: int, addr: int, layout: PadLayout, mntype: MNType) -> NDArray[Any]:
    lws = _lm(board, memory)[:, :, addr // 2 : addr // 2 + layout.num_lw].transpose(0, 1, 4, 3, 2)
    return np.ascontiguousarray(lws)[..., None].view(mntype.raw_dtype)[..., ::-1].copy()


def run(board: Board, lines: Iterable[str]) -> None:
    """Pack, assemble with all checks and execute straight-line code."""
    steps: list[Line] = []
    for text in lines:
        if text.startswith("mv"):
            steps.append(parse_mv(text))
        elif text.startswith("nop; wait i"):
            steps.append(Step(nop=True, wait=int(text[-2:], 16), text=text))
        else:
            steps.append(Step(items=(parse_item(text),), text=text))
    execute(assemble(vsm_text(pack(steps)), name="test.vsm"), board)
