"""The run-time sanitizers by example: each rule with a program that breaks it and one that does not."""

from __future__ import annotations

import pytest

from hw.engine import Deadlock, InvalidLatch
from hw.lockstep import Store
from hw.sanitizer.runtime import (
    AddressViolation,
    Area,
    Finding,
    ModeError,
    SanitizerError,
    StaleForward,
    TransferRace,
    UninitialisedRead,
    sanitize,
)
from hw.state import Board, Memory
from isa import assemble
from isa.debugger import debug_areas
from isa.dump import debug_handler


def check(text: str, board: Board | None = None, **options: object) -> list[Finding]:
    """Findings of a program, all of them."""
    program = assemble(text, check_hazards=False)
    options.setdefault("mode", "warn")
    return sanitize(
        program,
        board,
        on_debug=debug_handler([]),
        debug_reader=debug_areas,
        **options,  # type: ignore[arg-type]
    )


def rules(text: str, board: Board | None = None, **options: object) -> list[tuple[int, str]]:
    """(line, rule) of each finding."""
    return [(finding.line, finding.rule) for finding in check(text, board, **options)]


# --- uninitialised reads -------------------------------------------------------------------------------------------


def test_a_read_of_what_nothing_has_written() -> None:
    (finding,) = check("zero $nowrite\nlinc $lr2v $ls0v")
    assert finding.line == 2
    assert finding.text == "linc $lr2v $ls0v"
    assert finding.location == "group 0, L2B 0, L1B 0, MAB 0, PE 0, GRF0 word 2"
    assert finding.others == 4095
    assert finding.message == (
        "line 2: `linc $lr2v $ls0v` uses GRF0 word 2 of n0c0b0m0p0 (and 4095 more alike), which nothing has written; "
        "write it first, or declare it as loaded [uninitialised/read]"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zero $lr0v\nlinc $lr0v $ls0v", []),
        ("zero $r0v1\niinc $r0v $s0v", []),
        ("zero $r0v2\niinc $lr0v $s0v", [(2, "uninitialised/read")]),  # the odd words
        ("zero $lr0\nlinc $lr0v $ls0v", [(2, "uninitialised/read")]),  # cycles 1 to 3
        ("zero $lr0v/1000\nlinc $lr0v $ls0v", [(2, "uninitialised/read")]),  # masked off
        ("zero $lr0v/1000\nlinc $lr0v $ls0v/1000", []),  # read without effect
        ("zero $lr0v/1000\nlinc $lr0v $ls0v/1000\nlinc $aluf $ls0v", [(2, "uninitialised/read")]),  # now it has one
        ("zero $lr0v/1000\nlpassa $lr0v $nowrite", []),
        ("linc $t $ls0v", [(1, "uninitialised/read")]),
        ("zero $t\nnop\nlinc $t $ls0v", []),
        ("zero $lln0v\nhvadd $lr0v $lln0v $lls0v", [(2, "uninitialised/read")]),
        ("zero $ln0v\nzero $lr0v\nhvadd $lr0v $lln0v $lls0v", [(3, "uninitialised/read")]),  # LW1 of the accumulator
        ("zero $lln0v\nzero $lr0v\nhvadd $lr0v $lln0v $lls0v", []),
        ("zero $lm0v\nlpassa $lmt0v $ls0v", [(2, "uninitialised/read")]),  # T as an index
        ("zero $lm0v\nzero $t\nnop\nlpassa $lmt0v $ls0v", []),
        ("gmmul $lx $lr0v $ls0v", [(1, "uninitialised/nothing"), (1, "uninitialised/read")]),
        ("zero $lr0v\ngmwrite $lr0v $lx0\ngmmul $lx $lr0v $ls0v", []),
        ("zero $lr0v\nfmwrite $lr0v $ly0\nfmread $ly0 $ls0v\nlinc $ls0v $ln0v", []),  # PEs 0 and 1 have rows 0 to 3
        ("zero $lr0v\nl1bmm@0 $lr0v $lb0\nl1bmp $lb14 $lr0v\nlinc $lr4 $ls0", [(4, "uninitialised/carried")]),
        ("zero $lr0v\nl1bmm@0 $lr0v $lb0\nl1bmp $lb14 $lr0v\nlinc $lr2 $ls0", []),
        ("l1bmm $lb0 $lr0v", [(1, "uninitialised/nothing")]),
        ("zero $lr0v\nl1bmd $lr0v $lb0\nl1bmm $lb0 $ls0v\nlinc $ls0v $ln0v", []),
        ("zero $lr0v\nl1bmrliadd $lr0v $lbi\nl1bmm $lbi $ls0v\nlinc $ls0v $ln0v", []),
        ("zero $lr0v/1000\nl1bmd $lr0v $lb0", [(2, "uninitialised/read")]),
        ("l2bmb $lc0 $lb0", [(1, "uninitialised/nothing")]),
        ("l2bmd $lb0 $lc0", [(1, "uninitialised/nothing")]),
        ("l2bmi@0/4 $lb0 $lb64", [(1, "uninitialised/nothing")]),
        ("mvp/n64i01 $d0@0 $lc0@0.0\nnop; wait i01", [(1, "uninitialised/nothing")]),
        ("mvp/n64i01 $di0@0 $lc0@0.0", [(1, "uninitialised/read"), (1, "uninitialised/nothing")]),  # the DAR entry too
        ("l2bmdars $lc0@.0 $dar0", [(1, "uninitialised/nothing")]),
    ],
)  # fmt: skip
def test_reads(text: str, expected: list[tuple[int, str]]) -> None:
    assert rules(text) == expected


def test_one_mistake_is_one_finding() -> None:
    text = "linc $lr0v $ls0v\nlinc $ls0v $ln0v\nl1bmd $ln0v $lb0\nl2bmd $lb0 $lc0\nmvp/n64i01 $lc0@0.0 $d0@0"
    assert rules(text) == [(1, "uninitialised/read")]


def test_data_of_an_unwritten_place_are_found_where_they_are_used() -> None:
    """A move carries the state: of four blocks of 16 LW one is loaded, PEs meet the others."""
    board = Board()
    board.write_lw(Memory.DRAM, 5, 1, 0)
    text = "mvb/n64i01 $d0 $lc0\nnop; wait i01\nl2bmb $lc0 $lb0\nnop\nl1bmp $lb32 $lr0v\nnop\nlinc $lr0v $ls0v"
    assert rules(text, board) == [(5, "uninitialised/nothing")]
    assert rules(text.replace("$lb32", "$lb12"), board) == []


def test_off_chip_blocks_count_as_loaded_when_they_hold_anything() -> None:
    board = Board()
    board.pdm[0, :64] = 1
    move = "mvp/n64i01 $p0@0 $lc0@0.0\nnop; wait i01"
    assert rules(move, board) == []
    assert rules(move.replace("$p0", "$p64"), board) == [(1, "uninitialised/nothing")]
    zeros = Area(Store.PDM, 64, 64, (0,))
    assert rules(move.replace("$p0", "$p64"), board, loaded=[zeros]) == []


@pytest.mark.parametrize(
    ("load", "text", "spot"),
    [
        ("$lr0n0c0b0m0p0 4", "l1bmrliadd $lr0v $lb0", "GRF0 word 0 of n0c0b0m1p0"),
        ("$lr0n0c0b0m0p0 4", "gbfn $lr0v $ls0v", "GRF0 word 0 of n0c0b0m0p1"),
        ("$lb0n0c0b0 64", "l2bmrliadd $lb0 $lc0", "L1BM 0 of n0c0b1"),
        ("$lc0n0c0 64", "mvrliadd/n64 $lc0 $d0", "L2BM 0 of n0c1"),
    ],
)
def test_reductions_and_blocks_that_mix(load: str, text: str, spot: str) -> None:
    (finding,) = check(f"d set {load} {'0' * 16 * int(load.split()[1])}\n{text}")
    assert finding.rule == "uninitialised/mixed"
    assert str(finding.spot) == spot


def test_only_pes_that_were_given_something_count() -> None:
    text = "d set $lm0n0c0b0m3p1 4 " + "0" * 64 + "\nlinc $lm0v $ls0v\nlinc $ln0v $lr0v"
    (finding,) = check(text)
    assert (finding.line, str(finding.spot), finding.others) == (3, "LM1 word 0 of n0c0b0m3p1", 0)
    assert [f.others for f in check(text, whole_chip=True)] == [4094, 4095]


def test_what_lies_on_the_board_is_loaded() -> None:
    board = Board()
    for address in range(4):
        board.write_lw(Memory.LM0, address, 7, 1, 1, 2, 3, 0)
    (finding,) = check("linc $lm2v $ls0v", board)
    assert str(finding.spot) == "LM0 word 8 of n1c1b2m3p0"


# --- MVs in flight -------------------------------------------------------------------------------------------------

FILL_DAR = "l2bmdars $lc0@.0 $dar0\nl2bmdarw"
LOADED = [Area(store, 0, 4096) for store in (Store.PDM, Store.DRAM, Store.L2BM, Store.L1BM)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mvb/n64i01 $p0@0 $lc0\nl2bmb $lc0 $lb0", [(2, "mv/destination")]),
        ("mvb/n64i01 $p0@0 $lc0\nl2bmb $lc0 $lb0; wait i01", []),
        ("mvb/n64i01 $p0@0 $lc0\nl2bmb $lc64 $lb0", []),
        ("mvb/n64i01 $p0@0 $lc0\nl2bmd $lb0 $lc0", [(2, "mv/destination")]),
        ("mvp/n64i01 $lc0@0.0 $p0@0\nl2bmd $lb0 $lc0", [(2, "mv/source")]),
        ("mvp/n64i01 $lc0@0.0 $p0@0\nl2bmb $lc0 $lb0", []),
        ("mvp/n64i01 $lc0@0.0 $p0@0\nl2bmd $lb0 $lc0; wait i01", []),
        ("mvp/n64i01 $p0@0 $lc0@0.0\nmvp/n64i02 $lc0@0.0 $d0@0", [(2, "mv/destination")]),
        ("mvp/n64i01 $p0@0 $lc0@0.0\nnop; wait i01\nmvp/n64i02 $lc0@0.0 $d0@0", []),
        ("mvp/n64 $p0@0 $lc0@0.0\nmvp/n64i02 $p64@0 $lc64@0.0\nl2bmb $lc0 $lb0; wait i02", []),  # one queue
        ("mvp/n64 $p0@1 $lc0@0.0\nmvp/n64i02 $p64@0 $lc64@0.0\nl2bmb $lc0 $lb0; wait i02", [(3, "mv/destination")]),
        ("mvp/n64i01 $p0@0 $d0@0\nd get $d3n0 1", [(2, "mv/destination")]),
        ("mvp/n64i01 $p0@0 $d0@0\nd get $d3n1 1", []),
        ("mvp/n64i01 $p0@0 $lc0@0.0\nd set $lc0n0c0 1 l1", [(2, "mv/destination")]),
        (f"{FILL_DAR}\nmvp/n64i01 $di0@0 $lc512@0.0\n{FILL_DAR}", [(5, "mv/source")]),
    ],
)  # fmt: skip
def test_transfers_in_flight(text: str, expected: list[tuple[int, str]]) -> None:
    assert rules(text, loaded=LOADED) == expected


def test_a_race_names_both_lines_and_the_cure() -> None:
    (finding,) = check("mvb/n64i01 $p0@0 $lc64\nnop\nl2bmb $lc64 $lb0", loaded=LOADED)
    assert finding.message == (
        "line 3: `l2bmb $lc64 $lb0` reads L2BM 64 of n0c0 (and 7 more alike), which the MV of line 1 "
        "(`mvb/n64i01 $p0@0 $lc64`) writes and may not have finished; put `wait i01` before line 3 [mv/destination]"
    )


# --- addresses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zero $lm4088v", []),
        ("zero $lm4090v", [(1, "address/wrap")]),
        ("zero $lm[4094,0,2,4]", []),
        ("zero $lm[4090,4092,4094,0]", []),
        ("zero $lm4092v2j3", [(1, "address/wrap")]),
        ("zero $lm4094j3", [(1, "address/wrap")]),
        ('imm ui"4094" $r0\nipassa $r0 $nb\nzero $ln0', []),
        ('imm ui"4094" $r0\nipassa $r0 $nb\nzero $ln2', [(3, "address/wrap")]),
        ('imm ui"3" $r0\nipassa $r0 $nb\nzero $ln2', [(3, "address/misaligned")]),
        ('imm ui"3" $r0\nipassa $r0 $nb\nzero $n2', []),
        ('imm ui"8" $t\nnop\nzero $nowrite\nlpassa $lr0v $lmt4088\nzero $lr0v', None),
        ('imm i"-2" $t\nnop\nzero $lmt4', []),
    ],
)  # fmt: skip
def test_addresses_of_pes(text: str, expected: list[tuple[int, str]] | None) -> None:
    found = [(line, rule) for line, rule in rules(text) if rule.startswith("address")]
    assert found == ([(4, "address/wrap")] if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("l1bmd $lb8128 $lr0v", "address/wrap"),
        ("l2bmb $lc32704 $lb8160", "address/wrap"),
        ("mvp/n128i01 $p524224@0 $lc0@0.0", "address/wrap"),
        ("mvp/n128i01 $d536870848@0 $lc0@0.0", "address/wrap"),
        ("mvp/n128i01 $lc32704@0.0 $d0@0", "address/wrap"),
    ],
)
def test_addresses_of_banks(text: str, rule: str) -> None:
    assert rule in [found for _, found in rules(text)]


def test_a_wrap_names_the_parts_of_the_address() -> None:
    (finding,) = check('imm ui"4090" $r0\nzero $ln0v\nnop\nipassa $r0 $nb\nnop/2\nzero $ln6')
    assert "writes word 4096 (6 + base address 4090) in cycle 0, but the memory ends at 4095" in finding.message
    assert str(finding.spot) == "LM1 word 0 of n0c0b0m0p0"


def test_dar_entries_behind_the_end_of_the_dram() -> None:
    board = Board()
    board.dar[:, 0] = 2**25
    assert rules("mvp/n64i01 $di0@0 $lc0@0.0", board, loaded=LOADED) == [(1, "address/dar")]


# --- forwarding ----------------------------------------------------------------------------------------------------


READ_MATRIX = "zero $lr0v\nfmwrite $lr0v $lx0\nfmread $lx0 $ls0v"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l1bmm $lb0 $lr0v\nlinc $lbf $ls0v", []),
        ("l1bmm $lb0 $lr0v\nnop/3\nlinc $lbf $ls0v", []),
        ("l1bmm $lb0 $lr0v\nzero $ls0v\nlinc $lbf $ls0v", [(3, "forwarding/stale")]),
        ("l1bmm $lb0 $lr0v\nnoforward; zero $ls0v\nlinc $lbf $ls0v", []),
        ("zero $ls0v\nlinc $lbf $ls0v", [(2, "forwarding/stale")]),
        (f"{READ_MATRIX}\nlpassa $mreadf $ln0v", []),
        (f"{READ_MATRIX}\nzero $ln0v\nlpassa $mreadf $ln0v", [(5, "forwarding/stale")]),
    ],
)  # fmt: skip
def test_stale_latches(text: str, expected: list[tuple[int, str]]) -> None:
    found = [(line, rule) for line, rule in rules(text, loaded=LOADED) if rule.startswith("forwarding")]
    assert found == expected


# --- modes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("linc $lr0v $ls0v", UninitialisedRead),
        ("mvb/n64i01 $p0@0 $lc0\nl2bmb $lc0 $lb0", TransferRace),
        ("zero $lm4090v", AddressViolation),
        ("zero $ls0v\nlinc $lbf $ls0v", StaleForward),
    ],
)
def test_strict_mode_raises_at_the_first_finding(text: str, error: type[SanitizerError]) -> None:
    board = Board()
    with pytest.raises(error) as caught:
        check(text, board, mode="strict", loaded=LOADED)
    assert caught.value.finding.line == caught.value.line == len(text.splitlines())
    assert str(caught.value) == caught.value.finding.message


def test_strict_mode_stops_before_the_line_acts() -> None:
    board = Board()
    with pytest.raises(UninitialisedRead):
        sanitize(assemble("zero $ln0v\nlinc $lr0v $ls0v"), board)
    assert not board.grf.any()


def test_errors_of_the_machine() -> None:
    """They pass in strict mode and end the list of findings in warn mode."""
    text = "linc $lr0v $ls0v\nnop; wait i07\nzero $lr0v"
    with pytest.raises(Deadlock):
        check(text.removeprefix("linc $lr0v $ls0v\n"), mode="strict")
    first, last = check(text)
    assert (first.rule, last.rule, last.line) == ("uninitialised/read", "stop/Deadlock", 2)
    with pytest.raises(InvalidLatch):
        check("linc $aluf $ls0v", mode="strict")


def test_unknown_modes() -> None:
    with pytest.raises(ModeError, match="expected strict or warn; did you mean 'strict'"):
        check("nop", mode="strickt")
