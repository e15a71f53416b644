"""Time is a function of (program, chip, start) alone: reused exactly, stepped or merged, and blind to values."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hw.model
from hw.engine import execute
from hw.kernels.abi import Kernel, Kind
from hw.model import IDLE, Timing, lower, simulate, simulate_stream
from hw.model.simulate import simulate as memoised
from hw.program import Compute, Dest, Item, Mem, PeLoad, PeStore, Program, Source, Step
from hw.state import Board
from isa.assemble import assemble
from tests.model.programs import ALU, d_l, nop, program, step
from tests.model.random_programs import ALL_SPECS, ENGINE_SPECS, programs

MODEL = Path(hw.model.__path__[0])


def _facts(timing: Timing) -> tuple[object, ...]:
    """All that a timing tells but the log."""
    moves = [(t.plan.mv.line, t.issue, t.phases) for t in timing.transfers]
    regions = [(r.name, r.start, r.end, r.by_cause, r.by_unit, r.nbytes) for r in timing.regions]
    return (
        timing.cycles,
        timing.by_cause,
        timing.by_unit,
        timing.bytes_by_link,
        moves,
        regions,
        timing.steps,
        timing.end_state,
    )


BUSY = program(d_l(3200, 0), d_l(640, 1, tag=0xFE), *[step(ALU)] * 7)


@settings(max_examples=60, deadline=None)
@given(programs(), st.sampled_from(list(ALL_SPECS)), st.booleans())
def test_stepped_merged_and_memoised_are_equal(text: Program, chip: str, idle: bool) -> None:
    spec = ALL_SPECS[chip]
    start = IDLE if idle else simulate(BUSY, spec).end_state
    merged = simulate_stream(lower(text), spec, start=start)
    stepped = simulate_stream(lower(text, merge=False), spec, start=start)
    assert _facts(stepped) == _facts(merged)
    first = memoised(text, spec, start=start)
    assert _facts(first) == _facts(merged)
    again = memoised(replace(text), spec, start=start)  # another object with the same content
    assert again is first
    assert again.events.rows() == merged.events.rows()


# --- values ---


def test_no_state_of_a_board_can_be_passed() -> None:
    assert list(inspect.signature(simulate).parameters) == ["program", "spec", "detail", "start", "host"]
    assert list(inspect.signature(simulate_stream).parameters) == ["stream", "spec", "detail", "start", "host"]


@pytest.mark.parametrize("path", sorted(MODEL.glob("*.py")), ids=lambda path: path.stem)
def test_the_model_imports_nothing_that_holds_or_computes_values(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    rooms = {".".join(str(module).split(".")[:2]) for module in modules if str(module).startswith("hw.")}
    assert rooms <= {"hw.events", "hw.model", "hw.program", "hw.spec"}


def _other_values(item: Item) -> Item:
    """The same item with other kernels, operands, immediates and masks."""
    other = Kernel("other", Kind.LANES, lambda *_: None, lambda *_: None)
    if isinstance(item, Compute):
        operands = (Source(Mem.IMM, imm=(7, 9)), Source(Mem.LM1, 2, (8, 10, 12, 14)))
        return replace(item, kernel=other, sources=operands, dests=(Dest(Mem.T),), params=(3,), plane=1)
    if isinstance(item, PeLoad):
        return replace(item, dests=(Dest(Mem.LM0, 2, (4, 6, 8, 10)),))
    if isinstance(item, PeStore):
        return replace(item, source=Source(Mem.GRF1, 4, (1, 2, 3, 4)))
    return replace(item, lc=640, lb=128)


@settings(max_examples=40, deadline=None)
@given(programs(), st.sampled_from(list(ENGINE_SPECS)))
def test_values_never_influence_time(text: Program, chip: str) -> None:
    """Kernels, operands, immediates, PE addresses and reduction operators are not even part of what is simulated."""
    reduce = Kernel("sum", Kind.REDUCE, lambda *_: None, lambda *_: 0)
    lines = tuple(
        replace(line, items=tuple(_other_values(item) for item in line.items))
        if isinstance(line, Step)
        else replace(line, first=reduce, last=reduce)  # type: ignore[call-arg]
        for line in text.lines
    )
    other = replace(text, lines=lines)
    assert lower(other).digest == lower(text).digest
    assert _facts(simulate(other, ENGINE_SPECS[chip]))[:4] == _facts(simulate(text, ENGINE_SPECS[chip]))[:4]


PROGRAM = """\
imm i"3" $ln0v
nop/2
mvp/n64i01 $d0@0 $lc0@0.0
ladd $lm0v $ln0v $lr0v
nop; wait i01
l2bmb $lc0 $lb0
nop/2
l1bmm $lb0 $ls0v
nop/2
ladd $lr0v $ls0v $lm8v
"""


def test_a_run_on_other_data_takes_the_same_time() -> None:
    """The value pass leaves different results behind; the time of the program is the same object before and after."""
    text = assemble(PROGRAM)
    before = simulate(text)
    results = []
    for seed in (1, 2):
        board = Board()
        rng = np.random.default_rng(seed)
        board.dram[0][:64] = rng.integers(0, 1 << 62, 64, dtype=np.uint64)
        board.lm[0][:, :16] = rng.integers(0, 1 << 62, board.lm[0][:, :16].shape, dtype=np.uint64)
        execute(text, board)
        results.append(board.lm[0][:, :8].copy())
        assert _facts(simulate_stream(lower(text), ALL_SPECS["default"])) == _facts(before)
        assert simulate(text) is before
    assert (results[0] != results[1]).any()


def test_the_event_log_is_made_only_for_those_who_look() -> None:
    timing = simulate_stream(lower(program(d_l(640, tag=1), nop(wait=1))), ALL_SPECS["default"])
    assert "events" not in vars(timing)
    assert timing.as_dict()["vsm_cycles"] == timing.cycles
    assert timing.events is timing.events
    assert "events" in vars(timing)
