"""Running under control: steps, lines, breakpoints, errors, restarts."""

from __future__ import annotations

import pytest

from hw.engine import Deadlock, execute
from hw.lockstep import Kind, Store
from hw.sanitizer.runtime import Area, UninitialisedRead
from hw.state import Board, Memory
from isa import AsmError, assemble
from isa.debugger import Debugger, DebuggerError, sanitize

PROGRAM = """\
imm f"1.5" $r0v1
imm f"2" $s0v1       # comment

nop/2
fvadd $lr0v $ls0v $lr8v
mask r 1
nop
l1bmd $lr8v $lb0
nop/2
l2bmd $lb0 $lc0
nop
mvp/n64i01 $lc0@0.0 $d0@0
nop; wait i01
d getf $lr8n0c0b0m0p0 1
"""
PROGRAM = PROGRAM.replace("mask r 1\n", "mask 0\n")
DUMP = "DEBUG-GREG0(n0c0b0m0p0,8):(3.5, 3.5) (0x40600000, 0x40600000) #d getf $lr8n0c0b0m0p0 1"


def test_steps() -> None:
    debugger = Debugger(PROGRAM)
    assert (debugger.line, debugger.cycle) == (1, 0)
    stop = debugger.step()
    assert (stop.reason, stop.line, stop.text, stop.cycle) == ("step", 2, 'imm f"2" $s0v1', 4)
    assert str(stop) == 'cycle 4, next line 2: imm f"2" $s0v1'
    assert debugger.step(3).line == 5, "nop/2 is two steps"
    assert debugger.step(100).reason == "step"
    assert debugger.line == 0


def test_run_to_a_line() -> None:
    debugger = Debugger(PROGRAM)
    assert debugger.run_to(5).reason == "line"
    assert debugger.values("$lr8n0c0b0m0p0") == [0]
    debugger.step()
    assert debugger.values("$lr8n0c0b0m0p0") == [0x4060000040600000]
    with pytest.raises(DebuggerError, match="line 6 holds no statement; the nearest are 5, 7"):
        debugger.run_to(6)
    with pytest.raises(DebuggerError, match="line 1 lies behind; the next one is 7"):
        debugger.run_to(1)
    with pytest.raises(DebuggerError, match="the nearest are 13, 14"):
        debugger.run_to(99)


def test_to_the_end_with_dumps() -> None:
    debugger = Debugger(PROGRAM)
    stop = debugger.continue_()
    assert (stop.reason, stop.line, stop.output) == ("end", 0, (DUMP,))
    assert debugger.output == [DUMP]
    assert debugger.continue_().output == ()
    assert str(stop) == f"cycle {debugger.cycle}, end of the program"


def test_the_result_is_that_of_the_value_pass() -> None:
    debugger, board = Debugger(PROGRAM), Board()
    debugger.continue_()
    execute(assemble(PROGRAM), board)
    assert debugger.board is not None
    assert (debugger.board.grf == board.grf).all()
    assert (debugger.board.dram[0][:64] == board.dram[0][:64]).all()


def test_line_breakpoints() -> None:
    debugger = Debugger(PROGRAM)
    assert debugger.break_at(8) == 1
    stop = debugger.continue_()
    assert (stop.reason, stop.line, stop.what) == ("line", 8, "breakpoint before line 8")
    assert debugger.run_to(10).line == 10, "a breakpoint at the present line does not hold the run"
    with pytest.raises(DebuggerError, match="no breakpoint 7; there are: 1"):
        debugger.delete(7)
    debugger.delete(1)
    assert debugger.continue_().reason == "end"
    with pytest.raises(DebuggerError, match="holds no statement"):
        debugger.break_at(3)


@pytest.mark.parametrize(
    ("place", "count", "line", "spot"),
    [
        ("$lr8n0c0b0m0p0", 1, 5, "GRF0 word 8 of n0c0b0m0p0"),
        ("$r13n2c1b5m6p2", 1, 5, "GRF0 word 13 of n2c1b5m6p2"),
        ("$lr10m3-4p1", 1, 5, "GRF0 word 10 of n0c0b0m3p1"),
        ("$lr4n0c0b0m0p0", 3, 5, "GRF0 word 8 of n0c0b0m0p0"),
        ("$ls2", 1, 2, "GRF1 word 2 of n0c0b0m0p0"),
        ("$mauf", 1, 5, "$mauf cycle 0 of n0c0b0m0p0"),
        ("$lb255n3c1b7", 1, 8, "L1BM 255 of n3c1b7"),
        ("$lbi", 1, 8, "turnaround register 0 of n0c0b0"),
        ("$lc17n1c1", 1, 10, "L2BM 17 of n1c1"),
        ("$d3n0", 1, 12, "DRAM 3 of n0"),
    ],
)
def test_break_on_write(place: str, count: int, line: int, spot: str) -> None:
    debugger = Debugger(PROGRAM)
    debugger.break_on_write(place, count)
    stop = debugger.continue_()
    assert stop.reason == "write"
    assert stop.what.startswith(f"breakpoint 1: line {line}: ")
    assert stop.what.endswith(f"wrote {spot}")


@pytest.mark.parametrize("place", ["$lr16", "$lm0", "$d3n1", "$lc300", "$r7"])
def test_places_nobody_writes(place: str) -> None:
    debugger = Debugger(PROGRAM.replace("$lr8v", "$lr24v"))
    debugger.break_on_write(place)
    assert debugger.continue_().reason == "end"


@pytest.mark.parametrize(
    ("program", "place", "line"),
    [
        ("zero $lr0v/1000\nzero $lr4", "$lr4n0c0b0m0p0", 2),
        ("zero $nowrite\nisub $lr0v $ls0v $lm0 $omr3", "$omr3n0c0b0m0p0", 2),
        ("zero $nowrite\nlpassa $lr0v $lnb", "$nbn0c0b0m0p0", 2),
        ("zero $nowrite\nfmwrite $lr0v $lx0", "$lx0", 2),
        ("zero $nowrite\nlpassa $lr0v $t", "$lt", 2),
        ("zero $nowrite\nd set $lm2n0c0b0m0p1 1 l5", "$lm2n0c0b0m0p1", 2),
        ("d set $lm2n0c0b0m0p1 1 l5\nzero $lm0v", "$lm2n0c0b0m0p0", 2),
        ("d set $lt 2 l5l6\nzero $lm0v", "$tn0c0b0m0p0", 1),
        ("d set $lb2n0c0b0 1 l5\nd set $lb2n0c0b1 1 l5", "$lb2n0c0b1", 2),
        ("d set $lc2n0c1 1 l5\nd set $lc2n0c0 1 l5", "$lc2n0c0", 2),
        ("l2bmdars $lc0@.0 $dar8\nl2bmdarw", "$dar9n2", 2),
    ],
)
def test_break_on_write_of_every_kind(program: str, place: str, line: int) -> None:
    debugger = Debugger(program, hazards=False)
    debugger.break_on_write(place)
    stop = debugger.continue_()
    assert stop.reason == "write"
    assert stop.what.startswith(f"breakpoint 1: line {line}: ")


def test_mvs_arrive_when_time_has_come() -> None:
    debugger = Debugger("mvb/n64i01 $p0@0 $lc0\nnop\nnop; wait i01")
    board = debugger.board
    assert board is not None
    board.pdm[0, :64] = 7
    debugger.step(2)
    assert debugger.in_flight == [1]
    assert debugger.values("$lc0n0c0") == [0]
    debugger.break_on_write("$lc5n3c1")
    stop = debugger.continue_()
    assert "line 1: mvb/n64i01 $p0@0 $lc0 (data of the MV arrive) wrote L2BM 5 of n3c1" in stop.what
    assert debugger.values("$lc0n0c0") == [7]
    assert debugger.in_flight == []


def test_errors_freeze_the_run() -> None:
    debugger = Debugger("zero $lr0v\nnop; wait i05\nzero $ls0v")
    stop = debugger.continue_()
    assert (stop.reason, stop.line) == ("error", 2)
    assert isinstance(stop.error, Deadlock)
    assert "wait for tag i05" in stop.what
    assert debugger.step().reason == "error"
    assert debugger.values("$lr0n0c0b0m0p0") == [0]
    assert Debugger("d get $m0n0c0b0m0p0 1").continue_().reason == "error"


def test_sanitizers_stop_the_run() -> None:
    debugger = Debugger("linc $lr0v $ls0v\nlinc $ln0v $ls0v", check="warn")
    stop = debugger.continue_()
    assert (stop.reason, stop.line, len(stop.findings)) == ("finding", 2, 1)
    assert "uninitialised/read" in stop.what
    assert debugger.continue_().findings[0].line == 2
    assert debugger.continue_().reason == "end"
    assert len(debugger.findings) == 2
    stop = Debugger("linc $lr0v $ls0v", check="strict").continue_()
    assert isinstance(stop.error, UninitialisedRead)
    loaded = (Area(Store.GRF0, 0, 8),)
    assert Debugger("linc $lr0v $ls0v", check="strict", loaded=loaded).continue_().reason == "end"
    with pytest.raises(DebuggerError, match="expected 'off', 'warn' or 'strict'; did you mean 'warn'"):
        Debugger("nop", check="warm")


def test_restart() -> None:
    debugger = Debugger(PROGRAM)
    debugger.break_at(8)
    debugger.continue_()
    debugger.restart()
    assert (debugger.line, debugger.cycle, debugger.history()) == (1, 0, [])
    assert debugger.values("$lr0n0c0b0m0p0") == [0]
    assert debugger.continue_().line == 8
    with pytest.raises(DebuggerError, match="the board was given by the caller"):
        Debugger(PROGRAM, Board()).restart()


def test_a_board_of_the_caller() -> None:
    board = Board()
    board.write_lw(Memory.LM0, 0, 41, None)
    debugger = Debugger("linc $lm0 $ls0", board)
    debugger.step()
    assert board.read_lw(Memory.GRF1, 0, 3, 1, 7, 15, 3) == 42


def test_history_names_moments() -> None:
    debugger = Debugger(PROGRAM)
    debugger.continue_()
    events = debugger.history(100)
    assert [(e.kind, e.line) for e in events if e.kind is not Kind.LINE] == [(Kind.READ, 12), (Kind.ARRIVAL, 12)]
    assert [event.cycle for event in events] == sorted(event.cycle for event in events)
    assert str(events[0]) == 'cycle        0  line    1  imm f"1.5" $r0v1'
    assert debugger.history(0) == []
    assert len(debugger.history(3)) == 3


def test_bad_requests() -> None:
    with pytest.raises(AsmError, match="line 1"):
        Debugger("nonsense")
    debugger = Debugger("nop")
    with pytest.raises(DebuggerError, match="expected at least 1"):
        debugger.step(0)
    with pytest.raises(DebuggerError, match="expected at least 1"):
        debugger.break_on_write("$lm0", 0)
    with pytest.raises(DebuggerError, match="nothing has run yet"):
        debugger.what_does()


def test_sanitize_takes_text() -> None:
    output: list[str] = []
    text = "d set $lr0n0c0b0m0p0 1 l5\nlinc $lr0 $ls0\nd get $ls0n0c0b0m0p0 1"
    assert sanitize(text, output=output) == []
    assert "v:0x6)" in output[0]
    assert [f.line for f in sanitize(text, mode="warn", whole_chip=True)] == [2]
