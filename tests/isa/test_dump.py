"""Debug statements: recorded dump lines of the official emulator, refusals, run-time errors."""

from __future__ import annotations

import io
import json
import lzma
from pathlib import Path

import pytest

from hw.program import Debug
from hw.state.board import Board
from isa.dump import DumpError, PdmDump, Set, debug_handler, parse_debug
from isa.errors import AsmError

RECORDS = Path(__file__).parents[1] / "data" / "dump_statements.json.xz"


def run(*statements: str, board: Board | None = None) -> list[str]:
    """The dump lines of some statements."""
    out: list[str] = []
    handle = debug_handler(out)
    place = board or Board()
    for number, text in enumerate(statements, 1):
        handle(Debug(text, number), place)
    return out


@pytest.mark.parametrize("index", range(6))
def test_recorded_statements(index: int) -> None:
    record = json.loads(lzma.decompress(RECORDS.read_bytes()))[index]
    assert run(*record["lines"]) == record["dump"]


def test_untyped_numbers_of_the_second_long_word_are_in_capitals() -> None:
    (line,) = run("d set $llm0n0c0b0m0p0 1 7FF0000000000000FFF8000000000000", "d get $llm0n0c0b0m0p0 1")
    assert line == (
        "DEBUG-LM0(n0c0b0m0p0,0):{(f:inf, i:{{0x7FF0,0x0},{0x0,0x0}}, v:0x7FF0000000000000), "
        "(f:-INF, i:{{0xFFF8,0x0},{0x0,0x0}}, v:0xFFF8000000000000)} #d get $llm0n0c0b0m0p0 1"
    )


@pytest.mark.parametrize(
    ("payload", "format", "body"),
    [
        ("3FF0000000000000", "d", "(1) (0x3ff0000000000000)"),
        ("800FFFFFFFFFFFFF", "d", "(-0) (0x800fffffffffffff)"),
        ("3F80000040A00000", "f", "(1, 5) (0x3f800000, 0x40a00000)"),
        ("3E00428044404540", "h", "(1, 5, 9, 13) (0x3e00, 0x4280, 0x4440, 0x4540)"),
        ("4060000040100000", "bd", "(6.10948e-05) (0x4060000040100000)"),
        ("4060000040100000", "bf", "(3, 0.5) (0x40600000, 0x40100000)"),
        ("7F0000017F7FFFFF", "bg", "(0, 3.40281e+38) (0x7f000001, 0x7f7fffff)"),
        ("4080410040404080", "bh", "(1, 2, 0.5, 1) (0x4080, 0x4100, 0x4040, 0x4080)"),
        ("0005400180074002", "bh", "(0.000610352, 0.0078125, -0.000854492, 0.015625) (0x0005, 0x4001, 0x8007, 0x4002)"),
    ],
)
def test_formats(payload: str, format: str, body: str) -> None:
    (line,) = run(f"d set $lr0n0c0b0m0p0 1 {payload}", f"d get{format} $lr0n0c0b0m0p0 1")
    assert line == f"DEBUG-GREG0(n0c0b0m0p0,0):{body} #d get{format} $lr0n0c0b0m0p0 1"


def test_units_of_payloads() -> None:
    statement = parse_debug("d set $lm0m0p0 4 l1s2_3h4_5_6_7l12345678123456789")
    assert isinstance(statement, Set)
    assert statement.values == (1, 0x200000003, 0x4000500060007, 0x2345678123456789)


def test_expansion_takes_the_last_level_fastest() -> None:
    lines = run("d set $lc0n1 1 l7", "d get $lc0 1")
    assert [line.split(":")[0] for line in lines] == [f"DEBUG-L2BM(n{n}c{c},0)" for n in range(4) for c in range(2)]
    assert [line.endswith("v:0x7) #d get $lc0 1") for line in lines] == [False, False, True, True] + [False] * 4


def test_without_a_group_the_other_l1b_levels_are_dropped() -> None:
    run_board = Board()
    lines = run("d set $lb0b2 1 l5", "d get $lb0c1b2 1", board=run_board)
    assert len(lines) == 64 and all(line.endswith("v:0x5) #d get $lb0 1") for line in lines)
    assert len(run("d get $ltb1m0p0 1", board=run_board)) == 8  # T keeps them


def test_mask_registers_count_cycles_outside_entries() -> None:
    lines = run(
        "d set $omr1m0p0 2 l5lC", "d set $omr17m0p0 1 l9", "d get $omr1n0c0b0m0p0 2", "d get $omr17n0c0b0m0p0 1"
    )
    assert [line.split("#")[0].split(":")[1] for line in lines] == ["Mask{5} ", "Mask{12} "] * 4 + ["Mask{0} "] * 3 + [
        "Mask{15} "
    ]


def test_rows_past_the_end_read_as_zero() -> None:
    lines = run("d set $lr510n0c0b0m0p0 1 l5", "d get $lr510n0c0b0m0p0 2")
    assert [line.split("(")[1].split(")")[0] for line in lines] == ["n0c0b0m0p0,510", "n0c0b0m0p0,512"]
    assert "v:0x0" in lines[1]


def test_pdm_shows_the_dram_unless_told_otherwise() -> None:
    board = Board()
    board.pdm[2][5], board.dram[2][5] = 1, 2
    assert run("d get $p5n2 1", board=board)[0].startswith("DEBUG-PIU(n2,5):(f:0, i:{{0x0,0x0},{0x0,0x2}}")
    out: list[str] = []
    debug_handler(out, pdm=PdmDump.REAL)(Debug("d getd $p5n2 1"), board)
    assert out == ["DEBUG-PIU(n2,5):(0) (0x0000000000000001) #d getd $p5n2 1"]


def test_streams_get_lines() -> None:
    stream = io.StringIO()
    debug_handler(stream)(Debug("d getd $d0n0 1"), Board())
    assert stream.getvalue() == "DEBUG-DRAM(n0,0):(0) (0x0000000000000000) #d getd $d0n0 1\n"


def test_echo_is_normalised() -> None:
    assert parse_debug("d   get  $tn0c0b0m0p0   1  # comment").text == "d get $ltn0c0b0m0p0 1"
    assert parse_debug("get $lm0m0 1 extra words").text == "d get $lm0m0 1 extra words"
    assert parse_debug("d set $lm0m0p0 1 la").text == "d set $lm0m0p0 1 000000000000000A"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("d get $lm0n4c0b0m0p0 1", "debug/index"),
        ("d get $lm0n0c0b0m0p4 1", "debug/index"),
        ("d get $lm0p0m0 1", "debug/location"),
        ("d get $lt0n0c0b0m0p0 1", "debug/location"),
        ("d get $mb 1", "debug/location"),
        ("d get $llx0n0c0b0m0 1", "debug/location"),
        ("d get $lx0n0c0b0m0 1", "debug/format"),
        ("d getg $lm0m0p0 1", "debug/format"),
        ("d get $lm0m0p0", "debug/count"),
        ("d get $lm0m0p0 x", "debug/count"),
        ("d put $lm0m0p0 1", "debug/statement"),
        ("d set $lm0m0p0 1", "debug/payload"),
        ("d set $lm0m0p0 1 00000000000000010", "debug/payload"),
        ("d set $llm0m0p0 1 0000000000000001", "debug/payload"),
        ("d set $lm0m0p0 1 s1_2_3", "debug/payload"),
        ("d set $lx0m0 1 l1", "debug/location"),
    ],
)
def test_refusals(text: str, rule: str) -> None:
    with pytest.raises(AsmError) as error:
        parse_debug(text)
    assert error.value.rule == rule


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["d get $m0m0p0 1"], "Target type is smaller"),
        (["d set $lm0m0p0 1 7F80000040000000", "d getbg $lm0n0c0b0m0p0 1"], "PseudoSingleWords in a PackedWord"),
        (["d set $lm0m0p0 1 4000400140014400", "d getbh $lm0n0c0b0m0p0 1"], "HalfWords in a PackedWord"),
        (["d set $llm0m0p0 1 l4000000000000000l0", "d getbd $llm0n0c0b0m0p0 1"], "common_exponent"),
        (["d set $d0n0 1 l1"], "d and p targets unsupported"),
        (["d set $lt 5 l1l2l3l4l5"], "T has 4 cycles"),
        (["d set $lm4094m0p0 2 l1l2"], "runs past the end"),
    ],
)
def test_statements_that_cannot_be_carried_out(statements: list[str], message: str) -> None:
    with pytest.raises(DumpError, match=message) as error:
        run(*statements)
    assert error.value.line == len(statements)
