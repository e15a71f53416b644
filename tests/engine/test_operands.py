"""Sources and destinations of every form against the word-by-word model of single PEs."""

from __future__ import annotations

import numpy as np
import pytest

from hw.program import Dest, MaskRef, Mem, Source
from hw.state import Board
from tests.engine.build import passa, random_board, run
from tests.engine.pe_model import PeModel, Place

ROWS = (Mem.LM0, Mem.LM1, Mem.GRF0, Mem.GRF1)
PLACES: list[Place] = [(0, 0, 0, 0, 0), (3, 1, 7, 15, 3), (1, 0, 2, 5, 1), (2, 1, 4, 9, 2)]


def check(board: Board, source: Source, *dests: Dest) -> None:
    """Run one copy and compare whole PEs."""
    models = [PeModel.of(board, place) for place in PLACES]
    run(board, passa(source, *dests))
    for model in models:
        values = model.read(source)
        for dest in sorted(dests, key=lambda dest: dest.mem in (Mem.BAR0, Mem.BAR1, Mem.T)):
            model.write(dest, values)
        assert PeModel.of(board, model.place) == model


def random_addresses(rng: np.random.Generator, width: int) -> tuple[int, int, int, int]:
    a, b, c, d = (int(x) * width for x in rng.integers(0, 32 // width, 4))
    return a, b, c, d


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("mem", ROWS)
def test_memory_to_memory(mem: Mem, width: int) -> None:
    rng = np.random.default_rng(width)
    board = random_board()
    for target in ROWS:
        for target_width in (1, 2, 4):
            source = Source(mem, width, random_addresses(rng, width))
            check(board, source, Dest(target, target_width, random_addresses(rng, target_width)))


@pytest.mark.parametrize("width", [1, 2, 4])
def test_the_last_cycle_stays_without_stride(width: int) -> None:
    board = random_board()
    check(board, Source(Mem.LM1, width, (0, 4, 8, 12)), Dest(Mem.GRF0, width, (8,) * 4))
    check(board, Source(Mem.LM1, width, (0, 4, 8, 12)), Dest(Mem.GRF0, width, (8, 4, 8, 4)))


def test_in_place_and_several_destinations() -> None:
    board = random_board()
    check(board, Source(Mem.GRF0, 2, (0, 2, 4, 6)), Dest(Mem.GRF0, 2, (6, 4, 2, 0)), Dest(Mem.LM1, 4, (0, 4, 8, 12)))


def test_t_as_source_and_destination() -> None:
    board = random_board()
    check(board, Source(Mem.T), Dest(Mem.GRF1, 4, (0, 4, 8, 12)))
    check(board, Source(Mem.GRF0, 4, (4, 8, 12, 0)), Dest(Mem.T))
    check(board, Source(Mem.GRF0, 2, (4, 8, 12, 0)), Dest(Mem.T))


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("j", [0, 1, 2, 3])
def test_j_shifts_the_lower_pes(width: int, j: int) -> None:
    board = random_board()
    addresses = random_addresses(np.random.default_rng(j), width)
    check(board, Source(Mem.LM0, width, addresses, j=j), Dest(Mem.GRF1, width, (0, 4, 8, 12)))
    check(board, Source(Mem.GRF1, width, (0, 4, 8, 12)), Dest(Mem.LM1, width, addresses, j=j))


@pytest.mark.parametrize("width", [1, 2, 4])
def test_t_is_an_index_of_each_pe(width: int) -> None:
    board = random_board()
    check(board, Source(Mem.LM0, width, (0, 4, 8, 28), via_t=True), Dest(Mem.GRF1, width, (0, 4, 8, 12)))
    check(board, Source(Mem.GRF1, width, (0, 4, 8, 12)), Dest(Mem.LM0, width, (0, 4, 0, 28), via_t=True))


def test_t_written_beside_a_store_through_t() -> None:
    """The index is the one from before the step."""
    check(random_board(), Source(Mem.GRF0, 2, (0, 2, 4, 6)), Dest(Mem.T), Dest(Mem.LM0, 2, (0, 2, 4, 6), via_t=True))


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize(("mem", "number"), [(Mem.LM0, 0), (Mem.LM1, 1)])
def test_base_address_of_each_pe(mem: Mem, number: int, width: int) -> None:
    board = random_board()
    rng = np.random.default_rng(7)
    board.bar[number] = rng.integers(0, 4096, board.bar[number].shape)
    check(board, Source(mem, width, (0, 4, 8, 30)), Dest(Mem.GRF1, width, (0, 4, 8, 12)))
    check(board, Source(Mem.GRF0, width, (0, 4, 8, 12)), Dest(mem, width, (3, 4, 0, 30)))
    check(board, Source(mem, width, (0, 4, 8, 30), j=1), Dest(mem, width, (0, 4, 8, 12), j=2))
    other = Mem.LM1 if mem is Mem.LM0 else Mem.LM0
    check(board, Source(other, width, (0, 4, 8, 28)), Dest(other, width, (4, 8, 12, 0)))


def test_a_base_address_in_one_l1b_only() -> None:
    board = random_board()
    board.bar[0, 0, 0, 0] = 6
    check(board, Source(Mem.LM0, 2, (0, 2, 4, 6)), Dest(Mem.GRF0, 2, (0, 2, 4, 6)))


@pytest.mark.parametrize("mem", [Mem.BAR0, Mem.BAR1])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("mask", [None, MaskRef(3), MaskRef(3, words=True), MaskRef(20), MaskRef(20, words=True)])
def test_base_address_registers_as_destination(mem: Mem, width: int, mask: MaskRef | None) -> None:
    check(random_board(), Source(Mem.GRF0, 2, (0, 2, 4, 6)), Dest(mem, width, mask=mask))


def test_a_base_address_acts_from_the_next_step_on() -> None:
    board = random_board()
    lm, own = (Mem.LM0, Mem.BAR0)
    models = [PeModel.of(board, place) for place in PLACES]
    run(
        board,
        passa(Source(Mem.GRF0, 2, (0, 2, 4, 6)), Dest(own, 2), Dest(lm, 2, (0, 2, 4, 6))),
        passa(Source(lm, 2, (0, 2, 4, 6)), Dest(Mem.GRF1, 2, (0, 2, 4, 6))),
        passa(Source(Mem.T), Dest(own, 1)),
        passa(Source(lm, 4, (0, 4, 8, 12)), Dest(lm, 4, (4, 8, 12, 0))),
    )
    for model in models:
        values = model.read(Source(Mem.GRF0, 2, (0, 2, 4, 6)))
        model.write(Dest(lm, 2, (0, 2, 4, 6)), values)
        model.write(Dest(own, 2), values)
        model.write(Dest(Mem.GRF1, 2, (0, 2, 4, 6)), model.read(Source(lm, 2, (0, 2, 4, 6))))
        model.write(Dest(own, 1), model.read(Source(Mem.T)))
        model.write(Dest(lm, 4, (4, 8, 12, 0)), model.read(Source(lm, 4, (0, 4, 8, 12))))
        assert PeModel.of(board, model.place) == model


MASKS = [MaskRef(e, words) for e in (0, 5, 16, 22, 25, 31) for words in (False, True)]


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_masks_of_every_kind_and_width(mask: MaskRef, width: int) -> None:
    board = random_board(width)
    source = Source(Mem.GRF0, 4, (0, 4, 8, 12))
    check(board, source, Dest(Mem.GRF1, width, (4, 4, 8, 12), mask=mask))
    if width == 1:
        check(board, source, Dest(Mem.GRF1, width, (5, 5, 9, 11), mask=mask))
    check(board, source, Dest(Mem.LM0, width, (0, 4, 0, 12), via_t=True, mask=mask))
    check(board, source, Dest(Mem.LM1, width, (0, 4, 0, 12), j=1, mask=mask))


@pytest.mark.parametrize("words", [False, True])
def test_masks_on_t(words: bool) -> None:
    """A default mask lets LW1 pass as soon as one bit is set; entry 5 gets a zero in every second PE."""
    board = random_board()
    board.masks[:, 5, :, 1::2] = 0
    for entry in (5, 6, 16, 23, 31, 0):
        check(board, Source(Mem.GRF0, 4, (0, 4, 8, 12)), Dest(Mem.T, mask=MaskRef(entry, words)))


def test_one_masked_and_one_free_destination() -> None:
    board = random_board()
    check(
        board,
        Source(Mem.LM0, 2, (0, 2, 4, 6)),
        Dest(Mem.GRF0, 2, (0, 2, 4, 6), mask=MaskRef(4)),
        Dest(Mem.GRF1, 2, (0, 2, 4, 6)),
    )
