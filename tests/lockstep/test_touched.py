"""`touched` is exact: a line changes nothing outside its writes, which depend on nothing outside its reads."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import numpy as np
import pytest

from hw.engine import EngineError
from hw.lockstep import Cells, Store, touched
from hw.program import Line, Program, Step
from hw.state import Board
from isa import assemble, parse_item, parse_mv
from isa.sample import SAMPLED, sample
from tests.lockstep.line_by_line import Marks, arrays, copy_of, new_board, run_alone
from tests.sanitizer.random_code import random_program

_ALWAYS_SEEN = (Store.T_BEFORE, Store.DARBUF)  # internal to the T and DAR rules


def check_line(line: Line, board: Board, seed: int) -> None:
    """Run `line` on `board` and on a copy with other contents wherever the line does not read."""
    if isinstance(line, Step) and line.nop:
        return
    cells = touched(line, board, stale_t=board.t_pending)
    reads, writes = marked(board, cells, write=False), marked(board, cells, write=True)
    before, other = copy_of(board), disturbed(board, reads, seed)
    run_alone(line, board)
    run_alone(line, other)
    for (store, group, old), (_, _, new), (_, _, twin) in zip(
        arrays(before), arrays(board), arrays(other), strict=True
    ):
        if store in _ALWAYS_SEEN:
            continue
        where = f"{store.label} {group if group is not None else ''} by `{line.text}`"
        changed = old.astype(np.uint64) ^ new.astype(np.uint64)
        assert not (changed & ~writes[store, group]).any(), f"changes outside of what it writes: {where}"
        differs = (new.astype(np.uint64) ^ twin.astype(np.uint64)) & writes[store, group]
        assert not differs.any(), f"depends on what it does not read: {where}"


def marked(board: Board, cells: list[Cells], *, write: bool) -> Marks:
    marks = Marks(board)
    for one in cells:
        if one.write is write:
            marks.add(one)
    return marks


def disturbed(board: Board, reads: Marks, seed: int) -> Board:
    """A copy with random bits flipped that nobody reads; constant registers and base addresses stay."""
    rng = np.random.default_rng(seed)
    other = copy_of(board)
    for store, group, array in arrays(other):
        if store in (Store.BAR0, Store.BAR1, *_ALWAYS_SEEN, Store.DAR):
            continue
        noise = rng.integers(0, 2**64, array.shape, dtype=np.uint64) & ~reads[store, group]
        if store is Store.MASK:
            noise &= np.uint64(15)
            noise[:, 0] = noise[:, 16:] = 0
        array[...] = (array.astype(np.uint64) ^ noise).astype(array.dtype)
    return other


def lines_of(text: str) -> Program:
    return assemble(text, check_hazards=False)


@pytest.mark.parametrize("seed", [1, 2, *[pytest.param(n, marks=pytest.mark.slow) for n in range(3, 23)]])
def test_random_programs(seed: int) -> None:
    board = new_board(seed)
    for number, line in enumerate(lines_of("\n".join(random_program(seed, 40))).lines):
        check_line(line, board, 1000 * seed + number)


@pytest.mark.parametrize("seed", [1, *[pytest.param(n, marks=pytest.mark.slow) for n in range(2, 40)]])
def test_samples_of_all_records(seed: int) -> None:
    """One item of every record; what stops the machine (mixed exponents) is left out."""
    rnd = Random(seed)
    for record in SAMPLED:
        board = new_board(seed)
        text = sample(rnd.choice, [record])
        line: Line = parse_mv(text) if text.startswith("mv") else Step((parse_item(text),), text=text)
        with suppress(EngineError):
            check_line(line, board, seed)
