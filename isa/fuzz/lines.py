"""A program of many distinct random lines that passes every check: what the assembler's speed is measured with."""

from __future__ import annotations

import random
import warnings
from collections import deque

from hw.program import Line, Program, Step
from hw.sanitizer import hazards
from hw.sanitizer.rules import LONGEST
from isa.assemble import LineReader
from isa.errors import AsmError, AsmWarning
from isa.fuzz.generate import FILL_LATCHES, without_tag
from isa.sample import sample


def distinct_lines(seed: int, count: int) -> str:
    """`count` different lines of one random item each, over all instruction records and operand forms.

    Between them stand as many `nop` as the hazard rules need, and lines that fill the latches of what reads them.
    """
    rng = random.Random(seed)
    out: list[str] = []
    reader = LineReader("flat", check_hazards=True)
    recent: deque[Line] = deque()
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("error", AsmWarning)
        while len(seen) < count:
            text = without_tag(sample(rng.choice))
            if text in seen:
                continue
            if "$lbf" in text:
                _append(FILL_LATCHES, reader, recent, out)
            if _append(text, reader, recent, out):
                seen.add(text)
    return "\n".join(out) + "\n"


def _append(text: str, reader: LineReader, recent: deque[Line], out: list[str]) -> bool:
    """Put a line behind as many `nop` as it needs; False if its context forbids it."""
    try:
        reader.read(text, 0)
    except (AsmError, AsmWarning):
        return False
    line = reader.lines.pop()
    nops = 0
    # Strict: whether a latch is read later, which decides what the official rules count, is not known yet.
    while hazards.check(Program((*recent, line)), strict=True):
        reader.read("nop", 0)
        recent.append(reader.lines.pop())
        nops += 1
    recent.append(line)
    while sum(isinstance(before, Step) for before in recent) >= LONGEST:
        recent.popleft()
    out += ["nop"] * nops + [text]
    return True
