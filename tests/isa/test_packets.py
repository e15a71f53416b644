"""Packets of two steps and one transfer, and nops before lines, as counted on the vendor's tools."""

from __future__ import annotations

import pytest

from hw.program import Mv, MvNop, Step
from isa.assemble import assemble
from isa.commands.packets import packed
from isa.errors import AsmError

TRANSFER = "mvp/n64i0{} $p0@0 $lc0@0.0"


def _shape(text: str, *, insert_nops: bool = False, pack: bool = True) -> str:
    """s step, n nop, m transfer, - empty transfer, d debug line."""
    lines = assemble(text, insert_nops=insert_nops).lines
    letters = {Mv: "m", MvNop: "-"}
    return "".join(
        ("n" if line.nop and line.wait is None else "s") if isinstance(line, Step) else letters.get(type(line), "d")
        for line in (packed(lines) if pack else lines)
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["linc $lr0v $ls0v", TRANSFER.format(1)], "snm"),
        (["linc $lr0v $ls0v", "mvnop", TRANSFER.format(1)], "snm"),
        (["nop/2", "mvp/n64i01 $p0@0 $lc0@0.0", TRANSFER.format(2), "mvnop", "linc $lr0v $ls0v"], "nnmnnmsn-"),
        (["linc $lr0v $ls0v", "d get $ls0n0c0b0m0p0 1", "nop/2", "nop; wait i01"], "sn-dnn-sn-"),
        (["linc $lr0v $lr64v", TRANSFER.format(1), *["lpassa $ls0 $lr0v"] * 3, "mvnop", TRANSFER.format(2)],
         "snmss-snm"),
        (["mvnop"], ""),
    ],
)  # fmt: skip
def test_packets(rows: list[str], expected: str) -> None:
    assert _shape("\n".join(rows)) == expected


def test_a_nop_before_every_line_of_text() -> None:
    text = "# comment\nimm ui\"1\" $lr0\nd get $lr0n0c0b0m0p0 1\n\nnop/2\nmvp/n64i01 $p0@0 $lc0@0.0\nmaskr 1\nmvnop\n"
    assert _shape(text, insert_nops=True, pack=False) == "nnsndnnnnnmnn-n"
    assert _shape("nop\nquit\nnop\n", insert_nops=True, pack=False) == "nnn"
    assert _shape("", insert_nops=True, pack=False) == "n"


def test_inserted_nops_count_for_the_hazard_check() -> None:
    text = 'imm ui"1" $lr0\nnop\nlpassa $lr0v $ls0v'
    with pytest.raises(AsmError, match="line 3 touches GRF0"):
        assemble(text)
    assert _shape(text, insert_nops=True, pack=False) == "nsnnns"
    with pytest.raises(AsmError) as refused:
        assemble("nop\n\nfoo $lr0v", insert_nops=True)
    assert refused.value.line == 3
