"""The operand grammar: every form of isa.md 3 and its refusals."""

from __future__ import annotations

import pytest

from hw.program import Fixed
from isa.errors import AsmError
from isa.operand import BankOperand, Kind, MaskExpr, MatrixOperand, PeOperand
from isa.operand_grammar import parse_operand


@pytest.mark.parametrize(
    ("text", "kind", "width", "addr"),
    [
        ("$m1", Kind.LM0, 1, (1, 1, 1, 1)),
        ("$lm0v", Kind.LM0, 2, (0, 2, 4, 6)),
        ("$llr8v", Kind.GRF0, 4, (8, 12, 16, 20)),
        ("$s0v2", Kind.GRF1, 1, (0, 2, 4, 6)),
        ("$ln0v0", Kind.LM1, 2, (0, 0, 0, 0)),
        ("$lr[0,2,4,6]", Kind.GRF0, 2, (0, 2, 4, 6)),
        ("$lr[0,4]", Kind.GRF0, 2, (0, 4, 4, 4)),
        ("$lr0x10v0b10", Kind.GRF0, 2, (16, 18, 20, 22)),
        ("$lmt", Kind.LM0, 2, (0, 0, 0, 0)),
        ("$lmt8v", Kind.LM0, 2, (8, 10, 12, 14)),
        ("$t", Kind.T, 4, (0, 0, 0, 0)),
        ("$lmb", Kind.BAR0, 2, (0, 0, 0, 0)),
        ("$nb", Kind.BAR1, 1, (0, 0, 0, 0)),
        ("$mauf", Kind.MAUF, 4, (0, 0, 0, 0)),
        ("$lbf", Kind.LBF, 4, (0, 0, 0, 0)),
    ],
)
def test_pe_operands(text: str, kind: Kind, width: int, addr: tuple[int, int, int, int]) -> None:
    operand = parse_operand(text)
    assert isinstance(operand, PeOperand)
    assert (operand.kind, operand.width, operand.addr) == (kind, width, addr)


def test_decorations() -> None:
    operand = parse_operand("-$lm4vj2e")
    assert isinstance(operand, PeOperand)
    assert (operand.negate, operand.j, operand.modifier) == (True, 2, "e")
    operand = parse_operand("$lln0v/$imr3p")
    assert isinstance(operand, PeOperand)
    assert operand.mask == MaskExpr(3, False, "p")
    operand = parse_operand("$ls0/ll0110t")
    assert isinstance(operand, PeOperand)
    assert operand.mask == MaskExpr(16 + 6, True, "t")


def test_values() -> None:
    peid, omr = parse_operand("$peid"), parse_operand("$omr7")
    assert isinstance(peid, PeOperand) and peid.value == Fixed.PEID
    assert isinstance(omr, PeOperand) and omr.value == 7


def test_outside_operands() -> None:
    assert parse_operand("$llx4") == MatrixOperand("$llx4", 0, 4, 2)
    assert parse_operand("$ly") == MatrixOperand("$ly", 1, None, 1)
    assert parse_operand("$llb64") == BankOperand("$llb64", Kind.L1BM, 64, 2)
    assert parse_operand("$lbi") == BankOperand("$lbi", Kind.TURN)
    assert parse_operand("$lc64@3.1") == BankOperand("$lc64@3.1", Kind.L2BM, 64, 1, 3, 1)
    assert parse_operand("$lc0@.1") == BankOperand("$lc0@.1", Kind.L2BM, 0, 1, None, 1)
    assert parse_operand("$di5@2") == BankOperand("$di5@2", Kind.DRAM, 5, 1, 2, None, True)
    assert parse_operand("$dar9") == BankOperand("$dar9", Kind.DAR, 9)
    assert parse_operand("$p64@0") == BankOperand("$p64@0", Kind.PDM, 64, 1, 0)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("$q0", "operand/text"),
        ("$LR0", "operand/text"),
        ("lr0v", "operand/text"),
        ("$lr00v", "operand/text"),
        ("$lr0v-2", "operand/text"),
        ("$lr[0,2,4,6,8]", "operand/text"),
        ("$lr[0,2,4,6]v", "operand/text"),
        ("$lr[0, 2]", "operand/text"),
        ("$lr0vre", "operand/text"),
        ("$t0", "operand/text"),
        ("$peidr", "operand/text"),
        ("$p0@0.0", "operand/text"),
        ("$lc0@", "operand/text"),
        ("--$lr0", "operand/text"),
        ("$lr", "operand/address"),
        ("$lnt0", "operand/t-indirect"),
        ("$lr0j1", "operand/j"),
        ("$lm0j4", "operand/j"),
        ("$lmt0j1", "operand/t-and-j"),
        ("$lr1", "address/alignment"),
        ("$lr0v3", "address/alignment"),
        ("$llm[0,4,8,10]", "address/alignment"),
        ("$lmt1v", "address/alignment"),
        ("$lr512", "address/range"),
        ("$m4096", "address/range"),
        ("$lx16", "address/range"),
        ("$dar1024", "address/range"),
        ("$omr0", "address/mask-register"),
        ("$omr16", "address/mask-register"),
        ("$ls0/$imr32", "address/mask-register"),
        ("$p0@4", "address/index"),
        ("$lc0@0.2", "address/index"),
        ("$ls0/100", "mask/text"),
        ("$ls0/l1000", "mask/text"),
        ("$ls0/ll1000", "mask/word-length"),
        ("$lls0/1000", "mask/word-length"),
        ("$ls0/1000p", "mask/word-length"),
        ("$ls0/1000t", "mask/suffix"),
        ("$t/1000t", "mask/suffix"),
        ("$omr1/ll1000t", "mask/suffix"),
        ("$nowrite/1000", "mask/place"),
        ("$lb0/1000", "mask/place"),
    ],
)
def test_refusals(text: str, rule: str) -> None:
    with pytest.raises(AsmError) as caught:
        parse_operand(text)
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("lr0v", "$lr0v"),
        ("$LR0V", "$lr0v"),
        ("$auf", "$mauf"),
        ("$ls0/1000p", "$ls0/1000"),
        ("$lls0/1000", "$lls0/1000p"),
    ],
)
def test_the_nearest_spelling_is_offered(text: str, nearest: str) -> None:
    with pytest.raises(AsmError) as caught:
        parse_operand(text)
    assert caught.value.nearest == nearest


def test_a_list_and_a_stride_use_different_fields_of_the_instruction_word() -> None:
    stride, flat = parse_operand("$lr0v"), parse_operand("$lr[0,2,4,6]")
    fixed, single = parse_operand("$lr2"), parse_operand("$lr[2]")
    assert isinstance(stride, PeOperand) and isinstance(flat, PeOperand)
    assert isinstance(fixed, PeOperand) and isinstance(single, PeOperand)
    assert stride.addr == flat.addr and stride.port != flat.port
    assert fixed.port == single.port
