"""Random programs with their MVs, and boards with random contents, for comparing lock-step with the separate passes."""

from __future__ import annotations

import numpy as np

from hw.program import Program
from hw.sanitizer.runtime import Finding, sanitize
from hw.state import Board
from isa import assemble
from tests.sanitizer.random_code import random_program

_ARRAYS = (
    "lm", "grf", "t", "masks", "bar", "matrix", "latch_alu", "latch_mau", "latch_lbf", "latch_mread", "turn", "l1bm",
    "l2bm", "pdm", "dar",
)  # fmt: skip
_TOUCHED = 8192  # long words of DRAM that the programs can reach


def filled_board(seed: int = 1) -> Board:
    """A board with random contents wherever the random programs read."""
    board = Board()
    rng = np.random.default_rng(seed)
    for array in (
        board.lm[:, :, :24],
        board.grf[:, :, :24],
        board.l1bm[:, :512],
        board.l2bm[:, :2048],
        board.pdm[:, :8192],
    ):
        array[:] = rng.integers(0, 2**64, array.shape, dtype=np.uint64)
    for dram in board.dram:
        dram[:_TOUCHED] = rng.integers(0, 2**64, _TOUCHED, dtype=np.uint64)
    return board


def differences(a: Board, b: Board) -> list[str]:
    """Names of the memories in which two boards differ."""
    found = [name for name in _ARRAYS if not np.array_equal(getattr(a, name), getattr(b, name))]
    pairs = zip(a.dram, b.dram, strict=True)
    return found + [f"dram{n}" for n, (x, y) in enumerate(pairs) if not np.array_equal(x[:_TOUCHED], y[:_TOUCHED])]


def transfers(findings: list[Finding]) -> list[Finding]:
    """Findings about MVs in flight."""
    return [finding for finding in findings if finding.family == "mv"]


def random_text(seed: int, count: int = 70) -> list[str]:
    """A random program; its `wait`s stand anywhere or only at the end."""
    return random_program(seed, count)


def properly_waiting(lines: list[str]) -> Program:
    """The program with a `wait` for every MV whose source or destination is touched while it moves.

    What a race needs is read from the sanitizer's finding: the line before which the MV has to be complete.
    """
    lines = list(lines)
    while True:
        program = assemble("\n".join(lines), check_hazards=False)
        races = transfers(sanitize(program, filled_board(), mode="warn"))
        if not races:
            return program
        race = races[0]
        tag = race.hint.split("`wait ")[1][:3]
        wait = next(i for i, line in enumerate(lines) if i >= race.line - 1 and line == f"nop; wait {tag}")
        lines.insert(race.line - 1, lines.pop(wait))
