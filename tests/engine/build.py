"""Short forms for hand-made programs, and small boards with random contents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from hw.engine import execute
from hw.kernels.alu_int import ALU_INT
from hw.kernels.alu_misc import IMM
from hw.program import (
    Compute,
    Debug,
    Dest,
    Item,
    L1Map,
    L2Map,
    Line,
    MaskRef,
    Mem,
    Mv,
    MvForm,
    MvNop,
    MvPlace,
    Program,
    Source,
    Space,
    Step,
    Unit,
)
from hw.state import Board
from tests.state.small import small_board

PASSA = ALU_INT[("passa", "l", False)]
PASSA_HALVES = ALU_INT[("passa", "s", False)]
NOP = Step(nop=True)


def along(start: int, stride: int) -> tuple[int, int, int, int]:
    """Addresses of an operand with `v`."""
    return (start, start + stride, start + 2 * stride, start + 3 * stride)


def src(mem: Mem, width: int = 2, start: int = 0, **more: object) -> Source:
    """An auto-stride source."""
    return Source(mem, width, along(start, width), **more)  # type: ignore[arg-type]


def dst(mem: Mem, width: int = 2, start: int = 0, **more: object) -> Dest:
    """An auto-stride destination."""
    return Dest(mem, width, along(start, width), **more)  # type: ignore[arg-type]


def passa(source: Source, *dests: Dest, flush: MaskRef | None = None, unit: Unit = Unit.ALU) -> Compute:
    """Copy a 2LW."""
    return Compute(unit, PASSA, (source,), dests, flush=flush)


def imm(lw0: int, lw1: int, *dests: Dest) -> Compute:
    """Write constants."""
    return Compute(Unit.ALU, IMM, (Source(Mem.IMM, imm=(lw0, lw1)),), dests)


def step(*items: Item, **more: object) -> Step:
    """A PE line."""
    return Step(items=tuple(items), **more)  # type: ignore[arg-type]


def program(*lines: Item | Line) -> Program:
    """A program; bare items become steps, lines are numbered from 1."""
    made = [line if isinstance(line, Step | Mv | MvNop | Debug) else step(line) for line in lines]
    return Program(tuple(replace(line, line=number) for number, line in enumerate(made, start=1)))


def run(board: Board, *lines: Item | Line, threads: int = 1, **more: object) -> None:
    """Execute lines."""
    execute(program(*lines), board, threads=threads, **more)  # type: ignore[arg-type]


def random_board(seed: int = 1) -> Board:
    """A small board, all memories random; base address registers 0, mask entries 1..15 random."""
    board = small_board()
    rng = np.random.default_rng(seed)
    arrays: Iterable[np.ndarray] = (
        board.lm,
        board.grf,
        board.t,
        board.matrix,
        board.l1bm,
        board.l2bm,
        board.pdm,
        board.turn,
        *board.dram,
    )
    for array in arrays:
        array[:] = rng.integers(0, 2**64, array.shape, dtype=np.uint64)
    board.masks[:, 1:16] = rng.integers(0, 16, board.masks[:, 1:16].shape, dtype=np.uint8)
    return board


# --- maps, written down as isa.md 8.2 and 7.3 print them -----------------------------------------------------------


def l1bmm(lws: int = 1, stages: int = 0, only: int | None = None) -> L1Map:
    """16x1 mode."""
    step_lw = 4 * lws
    return L1Map(
        "l1bmm",
        lws,
        4 * step_lw,
        lambda c, w, m, p: step_lw * c + 4 * w + p,
        lambda m: only is None or m == only,
        stages,
    )


def l1bmm4(lws: int = 1, stages: int = 0, only: int | None = None) -> L1Map:
    """4x4 mode."""
    return L1Map(
        "l1bmm4",
        lws,
        64 * lws,
        lambda c, w, m, p: 16 * lws * c + 4 * lws * (m // 4) + 4 * w + p,
        lambda m: only is None or m % 4 == only,
        stages,
    )


def l1bmp(lws: int = 1) -> L1Map:
    """One long word for all PEs."""
    return L1Map("l1bmp", lws, 4 * lws, lambda c, w, m, p: 4 * w + c)


def l1bmd(shift: int = 0) -> L1Map:
    """Distribute or concatenate; `shift` is added to the MAB number of the block."""
    return L1Map("l1bmd", 1, 256, lambda c, w, m, p: 64 * c + 4 * ((m + shift) % 16) + p)


L2BMB = L2Map("l2bmb", 16, lambda b, c, k: 16 * c + k, lambda c, k: 16 * c + k, 64, 64)
L2BMB2 = L2Map("l2bmb2", 16, lambda b, c, k: 64 * c + 16 * (b // 2) + k, lambda c, k: 16 * c + k, 256, 64)
L2BMD = L2Map("l2bmd", 8, lambda b, c, k: 64 * c + 8 * b + k, lambda c, k: 8 * c + k, 256, 32)


# --- MV -------------------------------------------------------------------------------------------------------------


def mv(form: MvForm, size: int, source: MvPlace, target: MvPlace, **more: object) -> Mv:
    """One MV line."""
    return Mv(form, size, source, target, **more)  # type: ignore[arg-type]


def pdm(address: int, group: int | None = None) -> MvPlace:
    """`$p<address>@<group>`."""
    return MvPlace(Space.PDM, address, group)


def dram(address: int, group: int | None = None, indirect: bool = False) -> MvPlace:
    """`$d<address>@<group>` or `$di<entry>`."""
    return MvPlace(Space.DRAM, address, group, indirect=indirect)


def l2bm(address: int, group: int | None = None, bank: int | None = None) -> MvPlace:
    """`$lc<address>@<group>.<bank>`."""
    return MvPlace(Space.L2BM, address, group, bank)
