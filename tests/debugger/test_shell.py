"""The terminal front end: the verbs, and that nothing ever shows a traceback."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from isa.debugger import Debugger
from isa.debugger.__main__ import main
from isa.debugger.shell import Shell

PROGRAM = """\
imm f"1.5" $r0v1     # one and a half
nop/2
fvadd $lr0v $lr0v $ls0v
mvp/n64i01 $lc0@0.0 $p0@0
nop; wait i01
d getf $ls0n0c0b0m0p0 1
"""


def session(*commands: str, program: str = PROGRAM, check: str = "off") -> str:
    """What the commands print."""
    out = io.StringIO()
    shell = Shell(Debugger(program, check=check), io.StringIO(), out)
    for command in commands:
        shell.onecmd(command)
    return out.getvalue()


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (["step"], "cycle 4, next line 2: nop"),
        (["s 3"], "cycle 12, next line 3: fvadd $lr0v $lr0v $ls0v"),
        (["run 5"], "next line 5: nop; wait i01, MV in flight: line 4"),
        (["c"], "DEBUG-GREG1(n0c0b0m0p0,0):(3, 3) (0x40400000, 0x40400000)"),
        (["b 3", "c"], "breakpoint before line 3\ncycle 12, next line 3"),
        (["b $ls2n0c0b0m0p0 2", "c"], "breakpoint 1: line 3: fvadd $lr0v $lr0v $ls0v wrote GRF1 word 2 of n0c0b0m0p0"),
        (["b 3", "b $lm0", "b"], "1: before line 3\n2: write to $lm0\n"),
        (["b 3", "delete 1", "c"], "end of the program"),
        (["s", "p $lr0n0c0b0m0p0 f 2"], "DEBUG-GREG0(n0c0b0m0p0,2):(1.5, 1.5) (0x3fc00000, 0x3fc00000)\n"),
        (["p 2 i $r0n0c0b0m0p0"], "GREG0(n0c0b0m0p0,1):(0) (0x00000000)\n"),
        (["p $lm0 f"], "... 4032 more; name fewer PEs"),
        (["s", "w"], "writes GRF0 of n0c0b0m0p0\n    word 0       00000000........ -> 3FC00000........"),
        (["w 3 n1 f"], "reads GRF0 of n1c0b0m0p0\n    word 0       (0, 0)"),
        (["list"], '>     1  imm f"1.5" $r0v1     # one and a half\n      2  nop/2'),
        (["b 3", "l 3"], " *    3  fvadd"),
        (["s", "where"], "cycle 4, next line 2: nop"),
        (["s", "h 1"], 'cycle        0  line    1  imm f"1.5" $r0v1'),
        (["set $lm0n0c0b0m0p0 1 l2A", "p $lm0n0c0b0m0p0 l"], "(42) (0x000000000000002a)"),
        (["s", "restart", "where"], "cycle 0, next line 1"),
        (["help"], "step [N]: run the next N statements (1)."),
        (["help p"], "print $PLACE [FORMAT] [ROWS]"),
        (["help nonsense"], "error: no command `nonsense`"),
    ],
)
def test_verbs(commands: list[str], expected: str) -> None:
    assert expected in session(*commands)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("stp", "error: no command `stp`; did you mean `step`?"),
        ("xyzzy", "error: no command `xyzzy`; try `help`"),
        ("step x", "error: `x` is no number"),
        ("run", "error: a number is missing"),
        ("run 99", "error: line 99 holds no statement"),
        ("print", "error: print needs a place"),
        ("print $zz", "error: `$zz` is no place"),
        ("print $m0n0c0b0m0p0", "error: Target type is smaller than expected format"),
        ("break $lm0 x", "error: `x` is no number"),
        ("delete 3", "error: no breakpoint 3"),
        ("what 99", "error: line 99 holds no statement"),
        ("what", "error: nothing has run yet"),
        ("set", "error: `d set` needs a place"),
        ("diff", "error: a file name is missing"),
        ("diff /no/such/file", "error: cannot read /no/such/file: No such file or directory"),
    ],
)
def test_mistakes_are_one_message(command: str, expected: str) -> None:
    assert session(command).startswith(expected)


def test_diff_of_files(tmp_path: Path) -> None:
    other = tmp_path / "other.vsm"
    other.write_text(PROGRAM.replace("fvadd $lr0v $lr0v", "fvadd $lr0v -$lr0v"))
    assert session(f"diff {other}").startswith("behind line 3 (`fvadd $lr0v $lr0v $ls0v`) the runs differ: GRF1 word 0")
    assert "a comparison starts at the beginning" in session("step", f"diff {other}")
    other.write_text(PROGRAM)
    assert session(f"diff {other}") == "the runs agree to the end\n"


def test_errors_of_the_machine_are_shown() -> None:
    text = session("c", "c", "p $lr0n0c0b0m0p0 l", program="zero $lr0v\nnop; wait i09")
    assert text.count("error: line 2: wait for tag i09") == 2
    assert "GREG0(n0c0b0m0p0,0):(0)" in text
    assert "error: line 1: `linc $lr0v $ls0v` uses" in session("c", program="linc $lr0v $ls0v", check="strict")


def test_defects_do_not_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Debugger, n: int = 1) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(Debugger, "step", broken)
    assert session("step", "where") == (
        'internal error, please report it: ZeroDivisionError: oops\ncycle 0, next line 1: imm f"1.5" $r0v1\n'
    )


def test_random_input_never_breaks_the_loop() -> None:
    rnd = Random(7)
    words = [
        "step",
        "run",
        "c",
        "b",
        "p",
        "what",
        "list",
        "delete",
        "$lm0n0c0b0m0p0",
        "$",
        "f",
        "-1",
        "3",
        "0",
        "n0",
        "'",
        "\x00",
        "help",
    ]
    commands = [" ".join(rnd.choices(words, k=rnd.randrange(1, 4))) for _ in range(150)]
    assert "internal error" not in session(*commands)


def test_the_loop_itself(tmp_path: Path) -> None:
    file = tmp_path / "program.vsm"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "isa.debugger", str(file), "--check", "warn"],
        input="step\n\nwhere\nquit\nstep\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        'cycle 0, next line 1: imm f"1.5" $r0v1',
        "(vsm) cycle 4, next line 2: nop",
        "(vsm) cycle 8, next line 2: nop",
        "(vsm) cycle 8, next line 2: nop",
        "(vsm) ",
    ]


@pytest.mark.parametrize(
    ("content", "message"), [(b"nonsense", "line 1: "), (b"\xff\xfe", "is no text file"), (None, "cannot read")]
)
def test_files_that_cannot_be_debugged(
    content: bytes | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.vsm"
    if content is not None:
        file.write_bytes(content)
    assert main([str(file)]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
