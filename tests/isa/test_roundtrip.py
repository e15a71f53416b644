"""Text, encoding and canonical text agree on random legal items of every record (hypothesis over `isa.sample`)."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hw.program import Debug, Item, Mv, MvNop, Program, Step
from isa import assemble
from isa.disassemble import disassemble
from isa.encoding import AUTO_STRIDE, FLAT, decode, encode
from isa.errors import AsmError, AsmWarning
from isa.record import Record
from isa.sample import SAMPLED, sample

QUIET = (HealthCheck.too_slow, HealthCheck.filter_too_much)


def assembled(text: str) -> Program:
    """The program of a text, hazards unchecked, warnings dropped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AsmWarning)
        return assemble(text, check_hazards=False)


def legal(text: str) -> bool:
    """Whether the item may stand alone in a line (some need another item beside them)."""
    try:
        assembled(text)
    except AsmError:
        return False
    return True


def meaning(program: Program) -> list[object]:
    """Everything of a program but texts and line numbers."""

    def bare(item: Item) -> Item:
        return replace(item, text="")

    found: list[object] = []
    for line in program.lines:
        if isinstance(line, Step):
            found.append((tuple(map(bare, line.items)), line.wait, line.nop, line.hold))
        elif isinstance(line, Mv):
            found.append(replace(line, text="", line=0))
        else:
            found.append(line.text if isinstance(line, Debug) else type(line) is MvNop)
    return found


@st.composite
def lines(draw: st.DrawFn, record: Record) -> str:
    """A legal line with one item of a record."""
    return sample(lambda options: draw(st.sampled_from(options)), [record])


@pytest.mark.parametrize("record", SAMPLED, ids=lambda record: record.name)
def test_every_record(record: Record) -> None:
    @settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=QUIET)
    @given(lines(record))
    def check(text: str) -> None:
        if legal(text):
            same_after_all_steps(text)

    check()


def same_after_all_steps(text: str) -> None:
    """assemble -> encode -> decode -> assemble, and assemble -> disassemble -> assemble."""
    program = assembled(text)
    canonical = disassemble(program)
    assert meaning(assembled(canonical)) == meaning(program)
    assert disassemble(assembled(canonical)) == canonical
    for mode in (FLAT, AUTO_STRIDE):
        assert decode(encode(program, mode)) == canonical
        # A spelling may say more than its canonical form (the bits of `@7/6` that /6 ignores), a canonical one may not.
        stream = list(encode(assembled(canonical), mode))
        assert list(encode(assembled(decode(stream)), mode)) == stream


@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=QUIET)
@given(st.data())
def test_programs(data: st.DataObject) -> None:
    def choose(options: object) -> object:
        return data.draw(st.sampled_from(options))  # type: ignore[call-overload]

    texts = [sample(choose) for _ in range(data.draw(st.integers(1, 8)))]
    kept = [text for text in texts if legal(text)]
    if kept:
        same_after_all_steps("\n".join([*kept, "nop", "noforward", "mvnop", "nop; wait i3f"]) + "\n")


@pytest.mark.parametrize("record", SAMPLED, ids=lambda record: record.name)
def test_examples_of_the_records(record: Record) -> None:
    if legal(record.example):
        same_after_all_steps(record.example)
