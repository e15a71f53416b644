"""The first difference between two tools on a program, and the smallest part of the program that still shows one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from isa.fuzz.generate import FuzzProgram
from isa.fuzz.tools import Tools

STOPPED = "STOPPED:"


@dataclass(frozen=True)
class Difference:
    """`line` is the number of the dump line (from 0) at which the outputs part; None stands for no line."""

    line: int
    ours: str | None
    theirs: str | None


def compare(program: FuzzProgram, ours: Tools, theirs: Tools) -> Difference | None:
    """Run both; None when all dump lines agree.  Two tools that both stop agree whatever they say about it."""
    mine, other = ours.run(program.text), theirs.run(program.text)
    for number in range(max(len(mine), len(other))):
        a = mine[number] if number < len(mine) else None
        b = other[number] if number < len(other) else None
        if a == b or (a is not None and b is not None and a.startswith(STOPPED) and b.startswith(STOPPED)):
            continue
        return Difference(number, a, b)
    return None


def shrink(program: FuzzProgram, ours: Tools, theirs: Tools) -> FuzzProgram:
    """Drop groups of lines, then dumps and inputs, as long as the two still differ."""
    for field in ("body", "dumps", "setup"):
        size = max(1, len(getattr(program, field)) // 2)
        while size:
            start = 0
            while start < len(getattr(program, field)):
                parts = getattr(program, field)
                smaller = replace(program, **{field: parts[:start] + parts[start + size :]})
                if smaller.dumps and compare(smaller, ours, theirs) is not None:
                    program = smaller
                else:
                    start += size
            size //= 2
    return program
