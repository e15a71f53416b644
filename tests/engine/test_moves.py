"""The 18 MV forms, one line of isa.md 6.2 each, written as loops over blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hw.engine import LoweringError
from hw.engine.moves import ring_read, ring_write
from hw.kernels.rrn import RRN
from hw.program import MvForm, MvPlace
from hw.state import Board
from tests.engine.build import dram, l2bm, mv, pdm, random_board, run

A, B, SIZE = 128, 320, 192
IADD, FADD = RRN[("l", "iadd")], RRN[("f", "fadd")]


class Model:
    """Copies of the memories; `same` compares them with the board."""

    def __init__(self, board: Board) -> None:
        self.pdm, self.l2 = board.pdm.copy(), board.l2bm.copy()
        self.dram = np.stack(board.dram)

    def same(self, board: Board) -> None:
        assert np.array_equal(board.pdm, self.pdm)
        assert np.array_equal(board.l2bm, self.l2)
        assert np.array_equal(np.stack(board.dram), self.dram)


def both() -> tuple[Board, Model]:
    board = random_board()
    return board, Model(board)


SINGLE = [
    ("P_L", lambda: (pdm(A, 1), l2bm(B, 2, 1))),
    ("L_P", lambda: (l2bm(A, 2, 1), pdm(B, 1))),
    ("D_L", lambda: (dram(A, 3), l2bm(B, 0, 1))),
    ("D_L", lambda: (l2bm(A, 3, 0), dram(B, 3))),
    ("P_D", lambda: (pdm(A, 0), dram(B, 2))),
    ("P_D", lambda: (dram(A, 2), pdm(B, 0))),
    ("P_P", lambda: (pdm(A, 0), pdm(B, 3))),
]


def memory(model: Model, place):  # type: ignore[no-untyped-def]
    if place.space.name == "PDM":
        return model.pdm[place.group]
    if place.space.name == "DRAM":
        return model.dram[place.group]
    return model.l2[2 * place.group + place.bank]


@pytest.mark.parametrize(("form", "ends"), SINGLE, ids=range(len(SINGLE)))
def test_mvp_single(form: str, ends) -> None:  # type: ignore[no-untyped-def]
    board, model = both()
    source, target = ends()
    run(board, mv(MvForm[form], SIZE, source, target))
    memory(model, target)[B : B + SIZE] = memory(model, source)[A : A + SIZE].copy()
    model.same(board)


def test_mvp_inside_one_pdm_reads_before_it_writes() -> None:
    board, model = both()
    run(board, mv(MvForm.P_P, SIZE, pdm(0, 1), pdm(64, 1)))
    model.pdm[1, 64 : 64 + SIZE] = model.pdm[1, :SIZE].copy()
    model.same(board)


def test_mvp_without_a_bank_means_bank_0() -> None:
    board, model = both()
    run(board, mv(MvForm.D_L, 64, l2bm(0, 2), dram(0, 2)))
    model.dram[2, :64] = model.l2[4, :64]
    model.same(board)


@pytest.mark.parametrize("upward", [False, True])
@pytest.mark.parametrize("kind", ["dram", "pdm"])
def test_mvp_parallel(kind: str, upward: bool) -> None:
    board, model = both()
    outside = dram if kind == "dram" else pdm
    ends = (l2bm(A, bank=1), outside(B)) if upward else (outside(A), l2bm(B, bank=1))
    run(board, mv(MvForm.PARALLEL, SIZE, *ends))
    for g in range(4):
        far = model.dram[g] if kind == "dram" else model.pdm[g]
        source, target = (model.l2[2 * g + 1], far) if upward else (far, model.l2[2 * g + 1])
        target[B : B + SIZE] = source[A : A + SIZE]
    model.same(board)


def test_mvb_pdm() -> None:
    board, model = both()
    run(board, mv(MvForm.B_PDM, SIZE, pdm(A, 2), l2bm(B)))
    model.l2[:, B : B + SIZE] = model.pdm[2, A : A + SIZE]
    model.same(board)


def test_mvb_dram() -> None:
    board, model = both()
    run(board, mv(MvForm.B_DRAM, SIZE, dram(A), l2bm(B)))
    for i in range(SIZE // 64):
        for g in range(4):
            for k in range(16):
                model.l2[:, B + 64 * i + 16 * g + k] = model.dram[g, A + 16 * i + k]
    model.same(board)


def test_mvb2() -> None:
    board, model = both()
    run(board, mv(MvForm.B2, SIZE, dram(A), l2bm(B)))
    for g in range(4):
        for bank in range(2):
            model.l2[2 * g + bank, B : B + SIZE] = model.dram[g, A : A + SIZE]
    model.same(board)


def test_mvb4() -> None:
    board, model = both()
    run(board, mv(MvForm.B4, SIZE, dram(A), l2bm(B)))
    for i in range(SIZE // 64):
        for g in range(4):
            for bank in range(2):
                for k in range(16):
                    model.l2[bank::2, B + 64 * i + 16 * g + k] = model.dram[g, A + 32 * i + 16 * bank + k]
    model.same(board)


def test_mvr_to_pdm() -> None:
    board, model = both()
    run(board, mv(MvForm.R_PDM, SIZE, l2bm(A), pdm(B, 3), first=IADD, last=IADD))
    model.pdm[3, B : B + SIZE] = model.l2[:, A : A + SIZE].sum(axis=0, dtype=np.uint64)
    model.same(board)


def test_mvr_to_dram() -> None:
    board, model = both()
    run(board, mv(MvForm.R_DRAM, SIZE, l2bm(A), dram(B), first=IADD, last=IADD))
    sums = model.l2[:, A : A + SIZE].sum(axis=0, dtype=np.uint64)
    for i in range(SIZE // 64):
        for g in range(4):
            model.dram[g, B + 16 * i : B + 16 * i + 16] = sums[64 * i + 16 * g : 64 * i + 16 * g + 16]
    model.same(board)


def test_mvr2() -> None:
    board, model = both()
    run(board, mv(MvForm.R2, SIZE, l2bm(A), dram(B), first=IADD))
    for g in range(4):
        model.dram[g, B : B + SIZE] = model.l2[2 * g, A : A + SIZE] + model.l2[2 * g + 1, A : A + SIZE]
    model.same(board)


def test_mvr4() -> None:
    board, model = both()
    run(board, mv(MvForm.R4, SIZE, l2bm(A), dram(B), last=IADD))
    for bank in range(2):
        sums = model.l2[bank::2, A : A + SIZE].sum(axis=0, dtype=np.uint64)
        for i in range(SIZE // 64):
            for g in range(4):
                at = B + 32 * i + 16 * bank
                model.dram[g, at : at + 16] = sums[64 * i + 16 * g : 64 * i + 16 * g + 16]
    model.same(board)


def test_mvr_rounds_banks_first() -> None:
    """Stage 1: the two L2BMs of a group; stage 2: the groups (numerics.md 4.1)."""
    board, _ = both()
    numbers = np.random.default_rng(2).normal(size=(8, 64, 2)).astype(np.float32).view(np.uint32).astype(np.uint64)
    board.l2bm[:, :64] = numbers[..., 0] << np.uint64(32) | numbers[..., 1]
    values = [[int(x) for x in row[:64]] for row in board.l2bm]
    run(board, mv(MvForm.R_PDM, 64, l2bm(0), pdm(0, 0), first=FADD, last=FADD))
    for t in (0, 13, 63):
        partial = [FADD.reference([values[2 * g][t], values[2 * g + 1][t]], ()) for g in range(4)]
        assert int(board.pdm[0, t]) == FADD.reference(partial, ())


def test_mvd_pdm_to_l2bm_and_back() -> None:
    board, model = both()
    run(board, mv(MvForm.D_PDM_L, SIZE, pdm(A, 1), l2bm(B)))
    for i in range(SIZE // 16):
        for q in range(8):
            at = A + 128 * i + 16 * q
            model.l2[q, B + 16 * i : B + 16 * i + 16] = model.pdm[1, at : at + 16]
    model.same(board)
    run(board, mv(MvForm.D_L_PDM, SIZE, l2bm(B), pdm(2048, 2)))
    model.pdm[2, 2048 : 2048 + 8 * SIZE] = model.pdm[1, A : A + 8 * SIZE]
    model.same(board)


def test_mvd_pdm_to_dram_and_back() -> None:
    board, model = both()
    run(board, mv(MvForm.D_PDM_DRAM, SIZE, pdm(A, 1), dram(B)))
    for i in range(SIZE // 64):
        for h in range(4):
            at = A + 64 * i + 16 * h
            model.dram[h, B + 16 * i : B + 16 * i + 16] = model.pdm[1, at : at + 16]
    model.same(board)
    run(board, mv(MvForm.D_DRAM_PDM, SIZE, dram(B), pdm(2048, 0)))
    model.pdm[0, 2048 : 2048 + SIZE] = model.pdm[1, A : A + SIZE]
    model.same(board)


def test_both_ends_wrap() -> None:
    board, model = both()
    run(board, mv(MvForm.B_PDM, 256, pdm(4096 - 64, 0), l2bm(1024 - 128)))
    for t in range(256):
        model.l2[:, (1024 - 128 + t) % 1024] = model.pdm[0, (4096 - 64 + t) % 4096]
    model.same(board)


def test_an_empty_transfer_is_allowed() -> None:
    board, model = both()
    run(board, mv(MvForm.B_DRAM, 0, dram(0), l2bm(0)))
    run(board, mv(MvForm.R4, 0, l2bm(0), dram(0), last=IADD))
    model.same(board)


@pytest.mark.parametrize("size", [1, 63, 96, -64])
def test_sizes_are_multiples_of_64(size: int) -> None:
    with pytest.raises(LoweringError, match=f"line 1: MV size {size}; expected a multiple of 64"):
        run(random_board(), mv(MvForm.B_PDM, size, pdm(0, 0), l2bm(0)))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (pdm(0, 4), l2bm(0), "group 4 does not exist; expected 0..3"),
        (pdm(0, 0), l2bm(0, 0, 2), "L2B 2 does not exist; expected 0..1"),
        (replace(pdm(0, 0), indirect=True), l2bm(0), "PDM cannot be addressed through the DAR"),
    ],
)
def test_places_that_do_not_exist(source: MvPlace, target: MvPlace, message: str) -> None:
    with pytest.raises(LoweringError, match=f"line 1: {message}"):
        run(random_board(), mv(MvForm.P_L, 64, source, target))


def test_missing_parts_are_named() -> None:
    with pytest.raises(LoweringError, match="line 1: MV form P_L needs a group"):
        run(random_board(), mv(MvForm.P_L, 64, pdm(0), l2bm(0)))
    with pytest.raises(LoweringError, match="line 1: MV form R2 needs a REDUCE kernel"):
        run(random_board(), mv(MvForm.R2, 64, l2bm(0), dram(0)))


def test_ring_access_longer_than_the_memory() -> None:
    ring = np.arange(4, dtype=np.uint64)
    assert ring_read(ring, 3, 6).tolist() == [3, 0, 1, 2, 3, 0]
    ring_write(ring, 2, np.arange(10, 17, dtype=np.uint64))
    assert ring.tolist() == [16, 13, 14, 15]
