"""Statements of a program text: lines, comments, nops, masks, regions, errors with their place (isa.md 2)."""

from __future__ import annotations

import pytest

from hw.program import Compute, Debug, MaskRef, Mv, MvForm, MvNop, Region, Space, Step
from isa import AsmError, AsmWarning, assemble, parse_item, parse_mv


def test_statement_kinds() -> None:
    program = assemble(
        "# comment\n\tlpassa $lr0v $ls0v  ! remark\n; nop/3 is below ;\n".replace(
            "; nop/3 is below ;", ";ladd $lm0v $ln0v $lr8v;;noforward;"
        )
        + "nop/3\n"
        "nop; wait i0f\n"
        "mvnop\n"
        "d get $lm0m0p0 1 # one\n"
        "mvp/n64i01 $p0@0 $lc0@1.1\n"
        "quit\n"
        "nonsense\n",
        name="kinds",
    )
    kinds = [type(line) for line in program.lines]
    assert kinds == [Step, Step, Step, Step, Step, Step, MvNop, Debug, Mv]
    assert program.name == "kinds" and program.source.startswith("# comment")
    first, second, nop, _, _, waiting = program.lines[:6]
    assert isinstance(first, Step) and first.line == 2 and first.text == "lpassa $lr0v $ls0v"
    assert isinstance(second, Step) and second.hold and len(second.items) == 1
    assert isinstance(nop, Step) and nop.nop and nop.line == 4
    assert isinstance(waiting, Step) and waiting.wait == 0x0F and waiting.nop
    debug = program.lines[7]
    assert isinstance(debug, Debug) and debug.text == "d get $lm0m0p0 1"


def test_regions() -> None:
    program = assemble("#@layer load\nnop\nnop/2\n  #@layer compute 1  \nnop\n#@layerless\n")
    assert program.regions == (Region(0, "load"), Region(3, "compute 1"))


def test_nop_zero_emits_nothing() -> None:
    assert assemble("nop/0\n").lines == ()


def test_persistent_masks_are_resolved() -> None:
    program = assemble(
        "masksm 3\nlpassa $lr0v $ls0v $mb $ln0v\nmaskllt 20\nlpassa $lr8v $t\nmask 0\nlpassa $lr16v $t\n"
    )
    dests = [[dest.mask for dest in line.items[0].dests] for line in program.lines if isinstance(line, Step)]  # type: ignore[union-attr]
    assert dests == [[MaskRef(3), MaskRef(3), None], [MaskRef(20, True)], [None]]


def test_a_one_time_mask_switches_the_persistent_mask_off() -> None:
    program = assemble("masks 3\nlpassa $lr0v $ls0v $ln0v/1000\n")
    (step,) = program.lines
    assert isinstance(step, Step) and isinstance(step.items[0], Compute)
    assert [dest.mask for dest in step.items[0].dests] == [None, MaskRef(24)]


def test_errors_name_line_and_source() -> None:
    with pytest.raises(AsmError) as caught:
        assemble("nop\nlpasa $lr0v $ls0v  # typo\n")
    error = caught.value
    assert (error.line, error.rule, error.nearest) == (2, "item/mnemonic", "lpassa")
    assert error.source == "lpasa $lr0v $ls0v  # typo"
    assert "line 2" in str(error) and "did you mean `lpassa`?" in str(error) and "lpasa $lr0v" in str(error)


def test_hazards_are_refused_only_when_asked_for() -> None:
    text = "lpassa $lm0v $lr0v\nlpassa $lr0v $ln0v\n"
    with pytest.raises(AsmError) as caught:
        assemble(text)
    assert caught.value.rule.startswith("hazard/") and caught.value.line == 2
    assert len(assemble(text, check_hazards=False).lines) == 2


def test_auto_stride_mode_refuses_lists() -> None:
    assert assemble("lpassa $lr0v4 $ls0v\n", mode="auto_stride").lines
    with pytest.raises(AsmError, match="lists need the flat"):
        assemble("lpassa $lr[0,2,4,6] $ls0v\n", mode="auto_stride")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mvp/n64i9f $p0@0 $lc0@0.0", "above i3f"),
        ("mask 5", "masks nothing"),
        ("lpassa $llr0vr $ls0v", "operations on half words"),
        ("l1bmriiaddr $lr0v $lb0", "no effect"),
        ("gmmul $lx $lr0ve $ls0v", "undefined for pseudo singles"),
    ],
)
def test_legal_but_doubtful_text_warns_with_its_line(text: str, message: str) -> None:
    with pytest.warns(AsmWarning, match=rf"line 2: .*{message}"):
        assemble(f"nop\n{text}\n")


def test_parse_item_and_parse_mv() -> None:
    item = parse_item("ladd $lr0v $ls0v $ln0v")
    assert isinstance(item, Compute) and item is parse_item("ladd $lr0v $ls0v $ln0v")
    mv = parse_mv("mvd/n2048i01 $p0@0 $lc64")
    assert (mv.form, mv.size, mv.tag, mv.src.space, mv.dst.addr) == (MvForm.D_PDM_L, 2048, 1, Space.PDM, 64)
    with pytest.raises(AsmError, match="is an MV line"):
        parse_item("mvd/n2048i01 $p0@0 $lc64")
    with pytest.raises(AsmError, match="is no MV line"):
        parse_mv("ladd $lr0v $ls0v $ln0v")
