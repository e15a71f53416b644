"""Runs a solution against a test case the way the contest's judge does (isa.md 16.1), on our assembler and engine."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hw.engine import execute
from hw.program import Mv, MvNop, Step
from hw.state import Board
from isa.assemble import assemble
from isa.dump import debug_handler
from traces.records_challenge.testcase import BITS, MARKER, decode, expectations, tolerance

_RESULT = re.compile(r":\(.*?\) \(0x([0-9a-f]+)\)")


@dataclass(frozen=True)
class Score:
    """Issued lines: `j` PE steps and `m` MV lines."""

    j: int
    m: int

    @property
    def total(self) -> int:
        """What the judge calls the score."""
        return self.j + self.m


def score(solution: str) -> Score:
    """Count the lines of an assembled solution; raises isa.errors.AsmError when it is refused (hazards included)."""
    lines = assemble(solution).lines
    return Score(sum(isinstance(line, Step) for line in lines), sum(isinstance(line, Mv | MvNop) for line in lines))


def joined(case: str, solution: str) -> str:
    """The program the emulator sees: the solution in place of the marker line."""
    before, after = case.split(MARKER)
    return before + "\n" + re.sub(r"[#!].*", "", solution) + after


def mismatches(case: str, solution: str) -> list[str]:
    """Run a solution; one text per wrong value."""
    dump: list[str] = []
    execute(assemble(joined(case, solution)), Board(), on_debug=debug_handler(dump), threads=1)
    return compare(case, dump)


def compare(case: str, dump: list[str]) -> list[str]:
    """Compare dump lines of any emulator with the expectations of a case."""
    wanted, atol = expectations(case), tolerance(case)
    wrong = []
    for line, (values, dtype) in zip(dump[-len(wanted) :], wanted, strict=True):
        found = _RESULT.search(line)
        bits = int(found[1], 16) if found else 0
        size = BITS[dtype]
        for position, value in enumerate(values):
            part = bits >> (64 - size * (position + 1)) & ((1 << size) - 1)
            actual = decode(part, dtype)
            if not abs(actual - value) <= atol:
                wrong.append(f"{line.split(':')[0]}[{position}]: {actual} instead of {value}")
    return wrong
