"""What the shadow calls defined is defined: two boards that differ only in undefined places agree there ever after."""

from __future__ import annotations

import re
from contextlib import suppress
from random import Random

import numpy as np
import pytest

from hw.engine import EngineError
from hw.lockstep import Store
from hw.program import Mv, Step
from hw.sanitizer.runtime import Finding
from hw.sanitizer.runtime.moves import StateTransfer
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.uninitialised import Uninitialised
from hw.state import Board
from isa import assemble, parse_item
from isa.debugger.record import expand_bits
from isa.record import Group
from isa.sample import SAMPLED, sample
from tests.lockstep.line_by_line import arrays, copy_of, new_board, run_alone
from tests.sanitizer.random_code import random_program

_LOADABLE = (
    Store.LM0,
    Store.LM1,
    Store.GRF0,
    Store.GRF1,
    Store.L1BM,
    Store.L2BM,
    Store.PDM,
    Store.DRAM,
    Store.MATRIX_X,
    Store.MATRIX_Y,
)
_NO_STATE = (Store.MASK, Store.BAR0, Store.BAR1, Store.DAR, Store.DARBUF, Store.T_BEFORE)


def state_of(shadow: Shadow, store: Store, group: int | None) -> np.ndarray:
    return shadow[store] if group is None else shadow.dram[group]


def undefine(shadow: Shadow, board: Board, other: Board, rng: np.random.Generator, flips: int = 2**64 - 1) -> None:
    """Many half words become undefined, and on the two boards different in the bits of `flips`."""
    for (store, group, _), (_, _, array) in zip(arrays(board), arrays(other), strict=True):
        if store in _LOADABLE:
            gone = rng.integers(0, 16, array.shape, dtype=np.uint8)
            gone[rng.random(array.shape) < 0.4] = 0
            states = state_of(shadow, store, group)
            states[...] = 255 & ~(gone | gone << 4)
            array ^= expand_bits(gone) & rng.integers(0, 2**64, array.shape, dtype=np.uint64) & np.uint64(flips)


def check(shadow: Shadow, board: Board, other: Board, text: str) -> None:
    for (store, group, a), (_, _, b) in zip(arrays(board), arrays(other), strict=True):
        if store not in _NO_STATE:
            known = expand_bits(state_of(shadow, store, group) & np.uint8(15))
            assert not ((a ^ b) & known).any(), f"{store.label} after `{text}`"


def literal_masks(lines: list[str]) -> str:
    """Mask entries hold flags, which have no state of their own: use fixed masks."""
    return re.sub(r"/\$imr\d+", "/1010", "\n".join(lines))


@pytest.mark.parametrize("seed", [5, *[pytest.param(n, marks=pytest.mark.slow) for n in range(6, 36)]])
def test_defined_values_do_not_depend_on_undefined_ones(seed: int) -> None:
    program = assemble(literal_masks(random_program(seed, 50, indirect=False)), check_hazards=False)
    board = new_board(seed)
    other = copy_of(board)
    shadow = Shadow(board)
    undefine(shadow, board, other, np.random.default_rng(seed))
    findings: list[Finding] = []
    nobody = np.zeros((board.topology.l1bs, 1, 4, 16), np.bool_)  # nothing is reported, so nothing is declared defined
    states = Uninitialised(board, shadow, nobody, findings.append)
    for line in program.lines:
        if isinstance(line, Step) and not line.nop:
            states.step(line, stale_t=board.t_pending, latch_used=True)
            assert not findings
        elif isinstance(line, Mv):
            StateTransfer(line, board, shadow, findings.append).run()
        run_alone(line, board)
        run_alone(line, other)
        if findings:  # a reduction that mixes: its result counts as defined from here on
            findings.clear()
            other = copy_of(board)
        check(shadow, board, other, line.text)
    assert (shadow[Store.LM1] & 15 != 15).any(), "something stays undefined"


def check_item(text: str, board: Board, seed: int, flips: int = 2**64 - 1, *, same_planes: bool = False) -> None:
    """One item on two boards that differ in undefined places."""
    other, shadow = copy_of(board), Shadow(board)
    undefine(shadow, board, other, np.random.default_rng(seed), flips)
    if same_planes:  # a product takes a plane of which anything is written as defined: see `MatrixStates.check`
        other.matrix[:] = board.matrix
    nobody = np.zeros((board.topology.l1bs, 1, 4, 16), np.bool_)
    step = Step((parse_item(text),), line=1, text=text)
    Uninitialised(board, shadow, nobody, lambda finding: None).step(step, stale_t=False, latch_used=True)
    run_alone(step, board)
    run_alone(step, other)
    check(shadow, board, other, text)


@pytest.mark.parametrize("seed", [1, *[pytest.param(n, marks=pytest.mark.slow) for n in range(2, 20)]])
def test_every_alu_and_mau_record(seed: int) -> None:
    """Operands whose place depends on data (T) and masks that hold data are left out."""
    rnd = Random(seed)
    for record in SAMPLED:
        if record.group in (Group.ALU, Group.MAU, Group.MWRITE, Group.MREAD):
            texts = (sample(rnd.choice, [record]) for _ in range(50))
            text = next(text for text in texts if not re.search(r"imr|\$l*mt", text))
            with suppress(EngineError):  # mixed exponents: see the next test
                check_item(text, new_board(seed), seed)


COMMON_EXPONENT = {  # one exponent in every element, other bits random
    "d": (0x800FFFFFFFFFFFFF, 0x3FF0000000000000),
    "f": (0x807FFFFF807FFFFF, 0x3F8000003F800000),
    "h": (0x81FF81FF81FF81FF, 0x3E003E003E003E00),
}


_LOW_MANTISSA = 0x000F000F000F000F  # flips here leave every block proper


@pytest.mark.parametrize(
    "text",
    [
        "dmmulu $lx $lr0v $ln0v",
        "dmfmad $ly $lr0v $ls0v $ln0v",
        "fmmul $lx $lr0v $ln0v",
        "fmfma $lx $lr0v $ls0v $ln0v",
        "gmmul $ly $lr0v $ln0v",
        "gmfma $lx $lr0v -$ls0v $ln0v",
        "hmmul $lx $lr0v $lln0v",
        "hmfma $lx $lr0v $lls0v $lln0v",
        "hmfma $ly $lr0v $ls0ve $lln0v",
        "hmmulr $lx $lr0v $ln0v",
        "fmmulr $lx $lr0v $ln0v",
        "dmmulur $lx $lr0v $n0v1",
        "gbfn $lr0v $ln0v",
        "hbfn/9 $llr0v $lln0v",
    ],
)
def test_matrix_products_of_proper_blocks(text: str) -> None:
    board = new_board(3)
    keep, exponent = (np.uint64(x) for x in COMMON_EXPONENT["f" if text[0] == "g" else text[0]])
    for array in (board.grf, board.matrix):
        array &= keep
        array |= exponent
    check_item(text, board, 3, _LOW_MANTISSA, same_planes=True)
