"""`with_nops` mends exactly what the hazard check finds."""

from __future__ import annotations

import pytest

from isa.assemble import assemble
from isa.errors import AsmError
from isa.fixnops import with_nops


def test_missing_steps_are_written_in() -> None:
    fixed = with_nops("lpassa $lr0v $ls0v\nlinc $ls0v $lm0v  # reads too early\nlpassa $lm8v $lr8v\n")
    assert fixed == "lpassa $lr0v $ls0v\nnop\nlinc $ls0v $lm0v  # reads too early\nnop/2\nlpassa $lm8v $lr8v\n"
    assemble(fixed)


def test_text_without_hazards_stays_as_it_is() -> None:
    text = 'imm f"1.0" $lr0\nnop/2\nlpassa $lr0 $ls0\n'
    assert with_nops(text) == text


def test_other_errors_are_reported() -> None:
    with pytest.raises(AsmError):
        with_nops("lpassa $lr1v $ls0v\n")
