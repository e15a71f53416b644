"""Random programs: equal for equal seeds, legal, inside the memories; comparison and shrinking on tools that differ."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from isa import assemble
from isa.assemble import forget
from isa.fuzz import FuzzProgram, OfficialTools, ToolsMissing, compare, distinct_lines, random_program, shrink
from isa.fuzz.generate import leaves_memory


@dataclass(frozen=True)
class Echo:
    """A tool whose dump is the program's own lines, with `word` replaced."""

    word: str = ""

    def run(self, text: str) -> list[str]:
        return [line.replace(self.word, "?") if self.word else line for line in text.splitlines()]


@pytest.mark.filterwarnings("ignore::isa.errors.AsmWarning")
@pytest.mark.parametrize("seed", range(20))
def test_programs_are_legal(seed: int) -> None:
    program = random_program(seed)
    assert program == random_program(seed)
    assert not leaves_memory(assemble(program.text))


def test_items_past_the_end() -> None:
    assert leaves_memory(assemble("l2bmd $lb0 $lc32640"))
    assert leaves_memory(assemble("l2bmb $lc0 $lb8176"))
    assert leaves_memory(assemble("l2bmi@0/4 $lb0 $lb8176"))
    inside = ("l2bmd $lb8160 $lc32512", "nop/12", "l2bmb $lc32704 $lb8128", "nop/12", "l2bmi@0/4 $lb0 $lb8128")
    assert not leaves_memory(assemble("\n".join(inside)))


def test_difference_is_found_and_shrunk() -> None:
    body = tuple((f"line {number}",) for number in range(9))
    program = FuzzProgram(0, ("one", "two"), (*body[:5], ("bad",), *body[5:]), ("get", "get 2"))
    assert compare(program, Echo(), Echo()) is None
    found = compare(program, Echo(), Echo("bad"))
    assert found is not None
    assert (found.line, found.ours, found.theirs) == (7, "bad", "?")
    small = shrink(program, Echo(), Echo("bad"))
    assert small.body == (("bad",),)
    assert small.setup == ()
    assert len(small.dumps) == 1


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "MNCORE2_OFFICIAL_ASSEMBLER is not set"),
        (
            {"MNCORE2_OFFICIAL_ASSEMBLER": "/nowhere/a", "MNCORE2_OFFICIAL_EMULATOR": "/nowhere/b"},
            "no program that can be run",
        ),
    ],
)
def test_missing_tools(environ: dict[str, str], message: str) -> None:
    with pytest.raises(ToolsMissing, match=message):
        OfficialTools.find(environ)


def test_distinct_lines() -> None:
    text = distinct_lines(3, 400)
    assert text == distinct_lines(3, 400)
    lines = [line for line in text.splitlines() if line != "nop" and ";" not in line]
    assert len(set(lines)) == len(lines) == 400
    first = assemble(text)
    forget()
    again = assemble(text)
    assert first.lines == again.lines
    assert len({line.split()[0].split("/")[0] for line in lines}) > 150
