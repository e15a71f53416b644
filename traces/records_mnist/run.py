"""Judges a solution on a board: inputs poked into the memories, the program run, the output compared in every copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.engine import execute
from hw.program import Mv, MvNop, Program, Step
from hw.state.board import Board
from traces.records_mnist.layout import to_long_words, to_words
from traces.records_mnist.problem import Array, Problem, Tensor


@dataclass(frozen=True)
class Score:
    """PE lines and MV lines of a program."""

    j: int
    m: int

    @property
    def total(self) -> int:
        return self.j + self.m


def score(program: Program) -> Score:
    """Count the lines as the judge does (isa.md 16.1)."""
    j = sum(isinstance(line, Step) for line in program.lines)
    return Score(j, sum(isinstance(line, Mv | MvNop) for line in program.lines))


def poke(board: Board, tensor: Tensor, values: Array) -> None:
    """Store a tensor with all its copies."""
    image = to_long_words(tensor.grid.place(tensor.words(values)))
    length = image.shape[-1]
    where = slice(tensor.address, tensor.address + length)
    if tensor.memory == "d":
        for group in tensor.groups:
            board.dram[group][where] = image[2 * group if len(image) > 1 else 0, 0, 0, 0]
        return
    full = np.broadcast_to(image, (8, 8, 16, 4, length)).reshape(64, 16, 4, length)
    board.lm["mn".index(tensor.memory)][:, where] = full.transpose(0, 3, 2, 1)


def peek(board: Board, tensor: Tensor) -> NDArray[np.uint32]:
    """The words of a tensor's image with every copy: (L2B, L1B, MAB, PE, address, word); DRAM counts as L2B = group."""
    length = tensor.grid.long_words
    where = slice(tensor.address, tensor.address + length)
    if tensor.memory == "d":
        rows = np.stack([board.dram[group][where] for group in tensor.groups])
        return to_words(rows.reshape(-1, 1, 1, 1, length))
    lm = board.lm["mn".index(tensor.memory)][:, where]
    return to_words(lm.transpose(0, 3, 2, 1).reshape(8, 8, 16, 4, length))


def mismatches(problem: Problem, board: Board, expected: Array) -> int:
    """How many output words, copies included, are wrong."""
    tensor = problem.output
    got = peek(board, tensor)
    values = got.view(np.float32 if tensor.dtype == "Float" else np.int32).astype(np.float64)
    wanted: NDArray[np.float64] = tensor.grid.place(expected.astype(np.float64)).astype(np.float64)
    filled = tensor.grid.filled
    if tensor.memory == "d":  # a group stands for its two L2Bs
        wanted, filled = wanted[::2], filled[::2]
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(values - wanted) <= problem.atol) & np.broadcast_to(filled, values.shape)
    return int(wrong.sum())


def judge(problem: Problem, program: Program, board: Board, seed: int) -> int:
    """Run one random case on a freshly reset board; the number of wrong words."""
    board.reset()
    inputs = problem.make(np.random.default_rng(seed))
    for tensor, values in zip(problem.inputs, inputs, strict=True):
        poke(board, tensor, values)
    execute(program, board)
    return mismatches(problem, board, problem.expect(*inputs))
