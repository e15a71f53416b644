"""Looking at a stopped run: printing, what a line does, differences between runs."""

from __future__ import annotations

import pytest

from hw.state import Board, Memory
from isa import AsmError
from isa.debugger import Debugger, DebuggerError
from isa.dump import DumpError

READY = """\
imm f"1.5" $r0v1
imm i"-7" $s0v1
d set $lm4n1c0b2m3p1 2 l0123456789ABCDEFl3E004240BE003C00
zero $t
isub $ls0v $lr0v $ln0v $omr2
lpassa $lr0v $lmb
fmwrite $lr0v $ly0
"""


HALVES = "i:{{0x123,0x4567},{0x89AB,0xCDEF}}"
MINUS = "(-25769803783) (0xfffffff9fffffff9)"
ONE_AND_A_HALF = "(1.5, 1.5) (0x3fc00000, 0x3fc00000)"


@pytest.fixture(scope="module")
def debugger() -> Debugger:
    debugger = Debugger(READY, hazards=False)
    debugger.continue_()
    return debugger


@pytest.mark.parametrize(
    ("place", "dtype", "count", "expected"),
    [
        ("$lm4n1c0b2m3p1", "", 1, [f"DEBUG-LM0(n1c0b2m3p1,4):(f:3.5127e-303, {HALVES}, v:0x123456789ABCDEF)"]),
        ("$lm6n1c0b2m3p1", "h", 1, ["DEBUG-LM0(n1c0b2m3p1,6):(1, 4.5, -1, 0.5) (0x3e00, 0x4240, 0xbe00, 0x3c00)"]),
        ("$lr0n0c0b0m0p0", "f", 2, [f"DEBUG-GREG0(n0c0b0m0p0,{a}):{ONE_AND_A_HALF}" for a in (0, 2)]),
        ("$r1n0c0b0m0p0", "f", 1, ["DEBUG-GREG0(n0c0b0m0p0,1):(1.5) (0x3fc00000)"]),
        ("$ls0n0c0b0m0p0", "i", 1, ["GREG1(n0c0b0m0p0,0):(-7, -7) (0xfffffff9, 0xfffffff9)"]),
        ("$ls0n0c0b0m0p0", "ui", 1, ["GREG1(n0c0b0m0p0,0):(4294967289, 4294967289) (0xfffffff9, 0xfffffff9)"]),
        ("$s0n0c0b0m0p0", "s", 1, ["GREG1(n0c0b0m0p0,0):(-1, -7) (0xffff, 0xfff9)"]),
        ("$lm4n1c0b2m3p1", "l", 1, ["LM0(n1c0b2m3p1,4):(81985529216486895) (0x0123456789abcdef)"]),
        ("$lls0n0c0b0m0p0", "l", 1, [f"GREG1(n0c0b0m0p0,0):{{{MINUS}, {MINUS}}}"]),
        ("$omr2n0c0b0m0p0", "", 1, ["DEBUG-OMR(n0c0b0m0p0,2):Mask{0}"] * 2 + ["DEBUG-OMR(n0c0b0m0p0,2):Mask{15}"] * 2),
        ("$omr1n0c0b0m0p0", "l", 1, ["OMR(n0c0b0m0p0,1):(0) (0x0)"] * 4),
        ("$mbn0c0b0m0p0", "", 1, ["MB(n0c0b0m0p0,0):(0) (0x000)"]),
        ("$dar0n0", "", 1, ["DAR(n0,0):(0) (0x00000000)"]),
        ("$lbin0c0b0", "", 1, ["LBI(n0c0b0,0):(f:0, i:{{0x0,0x0},{0x0,0x0}}, v:0x0)"]),
        ("$tn0c0b0m0p0", "d", 1, ["DEBUG-TREG(n0c0b0m0p0,0):(0) (0x0000000000000000)"]),
        ("$ly0n0c0b0m0", "f", 1, [f"DEBUG-MRy(n0c0b0m0,0):{{{', '.join([ONE_AND_A_HALF] * 4)}}}"]),
        ("$p3n1", "l", 1, ["PIU(n1,3):(0) (0x0000000000000000)"]),
        ("$d3n1", "", 0, []),
    ],
)  # fmt: skip
def test_print(debugger: Debugger, place: str, dtype: str, count: int, expected: list[str]) -> None:
    assert [row.partition(" #")[0] for row in debugger.print(place, dtype, count)] == expected


@pytest.mark.parametrize(
    ("place", "rows"),
    [
        ("$lm0", 4096),
        ("$lm0m0-3p0,2", 64 * 8),
        ("$lm0n0,2c1b0-1,7m15p3", 6),
        ("$lt", 4096),
        ("$lb0n1", 16),
        ("$lc0", 8),
        ("$d0", 4),
        ("$lr510n0c0b0m0p0", 1),
    ],
)
def test_sets_of_places(debugger: Debugger, place: str, rows: int) -> None:
    assert len(debugger.values(place)) == rows
    assert len(debugger.print(place, "l")) == rows


def test_latches_by_cycle() -> None:
    debugger = Debugger("lpassa $peid $lr0v")
    debugger.step()
    assert debugger.values("$alufn0c0b0m2p1", 4) == [9, 9] * 4
    assert debugger.print("$alufn0c0b0m2p1", "l") == [
        "ALUF(n0c0b0m2p1,0):{(9) (0x0000000000000009), (9) (0x0000000000000009)}"
    ]


@pytest.mark.parametrize(
    ("place", "dtype", "message"),
    [
        ("$lmm0n0c0b0m0p0", "", "is no place; expected e.g. .* did you mean `.lm0n0c0b0m0p0`"),
        ("$lm0n4", "", "no n4; expected n0..n3"),
        ("$lm0n0m0-16", "", "no m0-16; expected m0..m15"),
        ("$lm0p0m0", "", "levels come once each, in the order n c b m p"),
        ("$lm0", "q", "no format `q`; expected none or one of d, f, h"),
    ],
)
def test_bad_places(debugger: Debugger, place: str, dtype: str, message: str) -> None:
    with pytest.raises(DebuggerError, match=message):
        debugger.print(place, dtype)


def test_formats_that_do_not_fit(debugger: Debugger) -> None:
    with pytest.raises(DumpError, match="different exponent"):
        debugger.print("$lm4n1c0b2m3p1", "bh")
    with pytest.raises(DumpError):
        debugger.print("$r0n0c0b0m0p0", "d")


def test_setting_memory() -> None:
    debugger = Debugger("linc $lm0 $ls0")
    debugger.set("$lm0n0c0b0m0p0 1 l29")
    debugger.set("d set $lm0n0c0b0m0p1 1 l5")
    debugger.step()
    assert debugger.values("$ls0n0c0b0m0p0-1") == [0x2A, 6]
    with pytest.raises(AsmError):
        debugger.set("$lm0 1 xyz")


def test_what_a_line_does() -> None:
    debugger = Debugger('imm f"1.5" $r0v1\nnop/2\nfvadd $lr0 $lr0 $lm2v/0100 $t')
    assert debugger.what(3) == (
        "line 3: fvadd $lr0 $lr0 $lm2v/0100 $t (not run yet)\n"
        "  reads GRF0 of n0c0b0m0p0\n"
        "    word 0       0000000000000000\n"
        "  will write over LM0 of n0c0b0m0p0\n"
        "    word 4       0000000000000000\n"
        "  will write over T of n0c0b0m0p0\n"
        + "".join(f"    {f'cycle {c}{lw}':<12} 0000000000000000\n" for lw in ("", " LW1") for c in range(4))
        + "  will write over $mauf of n0c0b0m0p0\n"
        + "".join(f"    {f'cycle {c}{lw}':<12} 0000000000000000\n" for lw in ("", " LW1") for c in range(4))
    ).rstrip("\n")
    debugger.continue_()
    text = debugger.what(3, "n3c1b7m15p3", "f")
    assert "  reads GRF0 of n3c1b7m15p3\n    word 0       (1.5, 1.5)\n" in text
    assert "  writes LM0 of n3c1b7m15p3\n    word 4       (0, 0) -> (3, 3)\n" in text
    assert debugger.what(1).splitlines()[2] == "    word 0       00000000........ -> 3FC00000........"
    first_read = next(debugger.what_does(3).cells((0, 0, 0, 0, 0), write=False))
    assert first_read[0].before == 0x3FC000003FC00000
    with pytest.raises(DebuggerError, match="is no PE"):
        debugger.what(3, "$lm0")
    with pytest.raises(DebuggerError, match="several PEs"):
        debugger.what(3, "n0c0b0m0-1p0")
    with pytest.raises(DebuggerError, match="no format"):
        debugger.what(3, dtype="e")


def test_addresses_that_depend_on_data() -> None:
    debugger = Debugger("lpassa $peid $t\nlpassa $peid $lnb\nnop/2\nlpassa $lmt8 $ln16j1", hazards=False)
    debugger.run_to(4)
    text = debugger.what(4, "n0c0b0m1p1")  # PE 5: T 5, base address 5, j adds 2
    assert "  reads LM0 of n0c0b0m1p1\n    word 12 " in text
    assert "  will write over LM1 of n0c0b0m1p1\n    word 22 " in text
    assert "  reads T of n0c0b0m1p1" in text
    assert "  reads base address of LM1 of n0c0b0m1p1" in text


def test_values_of_old_lines_are_forgotten() -> None:
    debugger = Debugger("linc $lr0 $ls0\n" + "nop\n" * 80)
    debugger.continue_()
    with pytest.raises(DebuggerError, match="line 1 ran at cycle 0, its values are no longer kept"):
        debugger.what_does(1)
    debugger.restart()
    debugger.run_to(2)
    assert debugger.what_does(1).done


# --- differences ---------------------------------------------------------------------------------------------------

BASE = 'imm f"1.5" $r0v1\nnop/2\nfvadd $lr0v $lr0v $lm2v\nnop/2\nl1bmd $lr0v $lb0\nfvadd $lm2v $lr0v $ln0v'


def test_two_programs() -> None:
    found = Debugger(BASE).diff(Debugger(BASE.replace("$lr0v $lm2v", "-$lr0v $lm2v")))
    assert found is not None
    assert (found.line, found.other_line, found.bit) == (3, 3, 30)
    assert str(found.spot) == "LM0 word 2 of n0c0b0m0p0"
    assert (found.value, found.other_value) == (0x40400000, 0)
    assert str(found) == (
        "behind line 3 (`fvadd $lr0v $lr0v $lm2v`) the runs differ: LM0 word 2 of n0c0b0m0p0, bit 30 "
        "(0x40400000 and 0x00000000)"
    )


def test_two_boards() -> None:
    boards = [Board(), Board()]
    program = "linc $lm0v $ls0v\nnop\nlpassa $ls2 $lr0"
    boards[1].write_lw(Memory.LM0, 1, 1 << 40, 2, 0, 3, 4, 1)
    found = Debugger(program, boards[0]).diff(Debugger(program, boards[1]))
    assert found is not None
    assert str(found) == (
        "before the next line the runs differ: LM0 word 2 of n2c0b3m4p1, bit 8 (0x00000000 and 0x00000100)"
    )


def test_dram_is_compared_where_it_is_read() -> None:
    boards = [Board(), Board()]
    boards[1].dram[2][70] = 1
    program = "mvp/n64i01 $d0 $lc0@.0\nmvp/n64i02 $d64 $lc64@.0\nnop; wait i02"
    found = Debugger(program, boards[0]).diff(Debugger(program, boards[1]))
    assert found is not None
    assert found.line == 2
    assert str(found).startswith(
        "in what the MV reads of line 2 (`mvp/n64i02 $d64 $lc64@.0`) the runs differ: DRAM 70 of n2"
    )


def test_runs_that_agree() -> None:
    assert Debugger(BASE).diff(Debugger(BASE)) is None
    assert Debugger(BASE).diff(Debugger(BASE.replace("nop/2\nl1bmd", "nop/2 # twice\nl1bmd"))) is None


def test_programs_of_different_length() -> None:
    found = Debugger(BASE).diff(Debugger(BASE + "\nnop"))
    assert found is not None
    assert "this run has ended, the other one goes on with line 7" in str(found)


def test_one_run_stops() -> None:
    found = Debugger(BASE).diff(Debugger(BASE.replace("l1bmd $lr0v $lb0", "nop; wait i01")))
    assert found is not None
    assert "the other run stopped, the other one went on" in str(found) or "the runs differ" in str(found)


def test_differences_by_place() -> None:
    """A mask, a base address and a latch are state, too."""
    for changed, store in (
        ("isub $lr0v $ls0v $nowrite $omr1", "mask register"),
        ("lpassa $peid $lnb", "base address of LM1"),
        ("lpassa $peid $nowrite", "$aluf"),
        ("fmwrite $lr0v $lx0", "matrix register x"),
    ):
        text = 'imm f"1" $r0v1\nnop/2\n'
        if "omr" in changed:
            changed = changed.replace("$nowrite ", "")
        found = Debugger(text + changed).diff(Debugger(text + "zero $nowrite"))
        assert found is not None, changed
        assert found.spot is not None
        assert store in str(found) or found.spot.store.label == "$aluf"
        assert found.line == 3
