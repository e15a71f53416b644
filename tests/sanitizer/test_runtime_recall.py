"""Recalled effects are the computed ones: same findings, same states, whatever the program and the loaded places."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from hw.lockstep import Lockstep, Store
from hw.program import Program
from hw.sanitizer.runtime import Finding, Sanitizer
from hw.sanitizer.runtime.contents import FIRST
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.uninitialised import Uninitialised
from hw.state import Board
from isa import assemble
from isa.debugger import debug_areas
from isa.dump import debug_handler
from tests.sanitizer.random_code import random_program

_SETS = (
    "d set $lr0n0c0b0m0p0 8 " + "3f80000000000000" * 8,
    "d set $lm0n1c1b3 16 " + "0000000000000001" * 16,
    "d set $lb0n0c0b0 64 " + "0000000000000005" * 64,
    "d set $lc0n2c0 256 " + "00000000000000ff" * 256,
)


def watched(program: Program, *, recall: bool, **options: bool) -> tuple[list[Finding], Shadow]:
    """Findings and final states."""
    sanitizer = Sanitizer("warn", debug_reader=debug_areas, recall=recall, **options)
    Lockstep(program, Board(), observers=(sanitizer,), on_debug=debug_handler([])).run()
    return sanitizer.findings, sanitizer._shadow


def program_of(seed: int) -> Program:
    """Random statements, with loads between them, run twice over."""
    rnd = Random(seed)
    lines = random_program(seed, 40, indirect=seed % 3 == 0)
    for text in rnd.sample(_SETS, rnd.randrange(3)):
        lines.insert(rnd.randrange(len(lines)) if rnd.random() < 0.5 else 0, text)
    return assemble("\n".join([*lines, *lines]), check_hazards=False)


@pytest.mark.parametrize("seed", [0, 1, 2, *[pytest.param(n, marks=pytest.mark.slow) for n in range(3, 60)]])
def test_findings_and_states_do_not_depend_on_it(seed: int) -> None:
    program = program_of(seed)
    whole_chip = seed % 2 == 1
    found, states = watched(program, recall=True, whole_chip=whole_chip)
    expected, computed = watched(program, recall=False, whole_chip=whole_chip)
    assert found == expected
    for store in Store:
        if store not in (Store.DRAM, Store.MASK, Store.BAR0, Store.BAR1):
            assert (states[store] == computed[store]).all(), store.label
    for one, other in zip(states.dram, computed.dram, strict=True):
        assert (one[: 1 << 16] == other[: 1 << 16]).all()


def test_steps_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses, lines and text do not matter; masks and what is found in the operands do."""
    computed: list[str] = []
    compute = Uninitialised._compute_step

    def counted(self, step, stale_t, latch_used):  # type: ignore[no-untyped-def]
        computed.append(step.text)
        compute(self, step, stale_t, latch_used)

    monkeypatch.setattr(Uninitialised, "_compute_step", counted)
    text = [
        "d set $lm0n0c0b0m0p0 1 0000000000000001",
        *[f"linc $lr{8 * k}v $ls{8 * k}v" for k in range(4)],  # undefined: what has findings is computed anew
        *[f'imm i"1" $lr{8 * k}v' for k in range(1, 9)],
        *[f"linc $lr{8 * k}v $ls{8 * k + 64}v" for k in range(1, 9)],
        *[f"linc $lr{8 * k}v $ls{8 * k + 128}v/1010" for k in range(1, 9)],
        "linc $lr8v $s200v",
        "linc $lr8 $ls192",
    ]
    watched(assemble("\n".join(text), check_hazards=False), recall=True)
    assert computed[:4] == text[1:5]
    immediates = ['imm i"1" $lr8v', 'imm i"1" $lr16v']  # the first one finds another state in its latch
    assert computed[4:] == [*immediates, "linc $lr8v $ls72v", "linc $lr8v $ls136v/1010", *text[-2:]]


def test_pieces_have_room_for_every_index() -> None:
    board = Board()
    shadow = Shadow(board)
    for store in FIRST:
        assert shadow[store].shape[1] < 1 << 16
    assert np.unique(list(FIRST.values())).size == len(FIRST)
