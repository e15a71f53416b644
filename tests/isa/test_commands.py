"""The commands: options, exit statuses, what goes to which stream, judging."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from isa.assemble import assemble
from isa.commands import assemble3, gpfn3_package_main, judge
from isa.commands.expectation import DTYPES, JudgeError, close, parse_item, result_values
from isa.commands.stream import StreamError, load_stream, parse_write
from isa.encoding import FLAT, encode

SOURCE = "d set $lm0n0c0b0m0p0 1 0000000000000042\nlinc $lm0 $ln0\nd get $ln0n0c0b0m0p0 1\n"
DUMP = "DEBUG-LM1(n0c0b0m0p0,0):(f:0, i:{{0x0,0x0},{0x0,0x43}}, v:0x43) #d get $ln0n0c0b0m0p0 1\n"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Sets standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def write(path: Path, text: str) -> str:
    """A file with this text; returns its name."""
    path.write_text(text)
    return str(path)


def test_assemble_and_run(tmp_path: Path, capfd: pytest.CaptureFixture[str], typed) -> None:  # type: ignore[no-untyped-def]
    typed(SOURCE)
    assert assemble3.main(["--instruction-mode", "flat"]) == 0
    stream, errors = capfd.readouterr()
    assert errors == "" and [row[0] for row in stream.splitlines()] == ["d", "j", "d"]
    assert gpfn3_package_main.main(["-i", write(tmp_path / "a.asm", stream)]) == 0
    assert capfd.readouterr() == ("", DUMP)
    typed(stream)
    assert gpfn3_package_main.main(["-d", str(tmp_path / "dump")]) == 0
    assert capfd.readouterr() == ("", "") and (tmp_path / "dump").read_text() == DUMP


def test_output_file_appears_only_when_complete(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.asm"
    assert assemble3.main(["--output-file", str(target), write(tmp_path / "bad.vsm", "linc $lr0v\n")]) == 134
    assert not target.exists() and sorted(p.name for p in tmp_path.iterdir()) == ["bad.vsm"]
    assert assemble3.main(["--output-file", str(target), write(tmp_path / "a.vsm", SOURCE)]) == 0
    assert target.read_text().count("\n") == 3
    capfd.readouterr()


def test_errors_are_marked_and_earlier_lines_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert assemble3.main([write(tmp_path / "a.vsm", "nop\nlinc $lr0v $lq0v\nnop\n")]) == 134
    stream, errors = capfd.readouterr()
    assert stream.count("\n") == 1
    assert errors.splitlines()[:4] == [
        "invalid operand `$lq0v` [operand/text]",
        "Line 2",
        "linc $lr0v $lq0v",
        "           ^^^^^",
    ]


def test_hazards_are_errors_warnings_or_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = write(tmp_path / "a.vsm", "linc $lr0v $ls0v\nlpassa $ls0v $lr0v\n")
    assert assemble3.main([name]) == 134
    stream, errors = capfd.readouterr()
    assert stream == "" and "[hazard/1]" in errors and "Line 2" in errors
    assert assemble3.main(["--hazard-check-warning", name]) == 0
    stream, errors = capfd.readouterr()
    assert stream.count("\n") == 2 and errors.startswith("warning : line 2 touches GRF1 word 0")
    assert assemble3.main(["--disable-hazard-checker", name]) == 0
    assert capfd.readouterr().err == ""


def test_comments_source_and_version(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = write(tmp_path / "a.vsm", "# head\nnop/2 # x\nd get $lr0m0p0 1\n# tail\n")
    assert assemble3.main(["--print-comment", "--print-asm", "--print-asm-version", name]) == 0
    rows = capfd.readouterr().out.splitlines()
    assert rows[0].startswith("# ! assembler version : ")
    assert rows[1] == "# head" and rows[-1] == "# tail" and rows[4] == "d get $lr0m0p0 1"
    assert rows[2].endswith(" # nop/2") and rows[3].endswith(" # nop/2")


def test_transfers_nobody_waits_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = write(tmp_path / "a.vsm", "mvp/n64 $p0@0 $lc0@0.0\n")
    assert assemble3.main([name]) == 0
    assert assemble3.main(["--enable-mv-completion-checker", name]) == 134
    assert "unfinished MV instructions remaining. lineno: 1" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--instruction-mode", "foo"], "foo is not valid as an argument of --instruction-mode"),
        (["missing.vsm"], "Input stream cannot be open"),
        (["--loader"], "--loader needs the official instruction words"),
    ],
)
def test_bad_command_lines(argv: list[str], message: str, capfd: pytest.CaptureFixture[str], typed) -> None:  # type: ignore[no-untyped-def]
    typed("")
    try:
        status = assemble3.main(argv)
    except SystemExit as stop:
        status = int(str(stop.code))
    assert status == 1 and message in capfd.readouterr().err


def test_emulator_options(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = write(
        tmp_path / "a.asm", "# c\n\nr 1 10 2 00000000000000010000000000000002\nd getd $d16n1 2\nd getd $d5n0 1\n"
    )
    assert gpfn3_package_main.main(["-i", name]) == 0
    rows = capfd.readouterr().err.splitlines()
    assert [row.split("(0x")[1][:16] for row in rows] == ["0" * 15 + "1", "0" * 15 + "2", "00000000007ffffb"]
    assert gpfn3_package_main.main(["-i", name, "--offchip-memory-init", "zero", "--dirty"]) == 0
    assert "(0x0000000000000000) #d getd $d5n0 1" in capfd.readouterr().err
    for argv, message in (
        (["-i", name, "--offchip-memory-init", "foo"], "Invalid offchip-memory-init: foo"),
        (["-i", "missing"], "can't open input file : missing"),
        (["-i", name, "-c", "x"], "-c: not supported"),
    ):
        assert gpfn3_package_main.main(argv) == 1
        assert message in capfd.readouterr().err


def test_a_stopped_program_names_its_stream_line(tmp_path: Path, capfd: pytest.CaptureFixture[str], typed) -> None:  # type: ignore[no-untyped-def]
    for text, line, message in (
        ("d get $m0n0c0b0m0p0 1\n", 1, "Target type is smaller"),
        ("# c\nx foo\n", 2, "Illegal input command received: `x`"),
        ("r 5 0 001 0123456789abcdef\n", 1, "no group 5"),
    ):
        assert gpfn3_package_main.main(["-i", write(tmp_path / "a.asm", text)]) == 134
        errors = capfd.readouterr().err
        assert message in errors and f"line no : {line}" in errors
    typed("linc $lr0v $ls0v\nfvadd $lr8v $ls8v $ln0v\nlpassa $aluf $lm0v\nd get $lm0m0p0 1\n")
    assert assemble3.main(["--disable-hazard-checker"]) == 0
    assert gpfn3_package_main.main(["-i", write(tmp_path / "a.asm", capfd.readouterr().out)]) == 134
    assert "line no : 3" in capfd.readouterr().err


def test_a_wait_without_transfer_ends_quietly(tmp_path: Path, capfd: pytest.CaptureFixture[str], typed) -> None:  # type: ignore[no-untyped-def]
    typed("nop; wait i01\nlinc $lr0v $ls0v\nd get $ls0n0c0b0m0p0 1\n")
    assert assemble3.main([]) == 0
    assert gpfn3_package_main.main(["-i", write(tmp_path / "a.asm", capfd.readouterr().out)]) == 0
    assert "v:0x0)" in capfd.readouterr().err


def test_memory_writes_keep_their_place() -> None:
    assert parse_write("r 0 000000010 001 0123456789abcdef", 1) == (0, 16, (0x0123456789ABCDEF,))
    program = load_stream(["r 0 0 1 0000000000000001", "d getd $d0n0 1", "r 0 0 1 0000000000000002"])
    assert [getattr(line, "line", 0) for line in program.lines] == [1, 2, 3]
    for text in ("r 0 0", "r 0 0 2 0000000000000001", "r 0 zz 1 0000000000000001"):
        with pytest.raises(StreamError):
            parse_write(text, 1)


CASE = f"""# ======= In(0): ((2:1))@LM0 / Long =======
d set $lm0n0c0b0m0p0 1 0000000000000005 # values=[5] / Long @[0]
d set $lm2n0c0b0m0p0 1 3f800000c0000000 # values=[1.0,-2.0] / Float @[0],[1]
{judge.MARKER}
# ======= Output =======
d getd $ln0n0c0b0m0p0 1 # expect=[6] / Long @[0]
d getd $ln2n0c0b0m0p0 1 # expect=[2.0, -4] / Float @[0],[1] atol=0.5
"""
SOLUTION = "linc $lm0 $ln0 # c\nnop\nfvadd $lm2 $lm2 $ln2 ! x\n\nd get $lm0n0c0b0m0p0 1\n"


def test_judge_accepts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [write(tmp_path / "case", CASE), write(tmp_path / "solution", SOLUTION)]
    assert judge.main(names) == 0
    assert capfd.readouterr().out == "ACCEPTED!! score=3 j=3 m=0 bytes=62\n"
    assert judge.main(["--enable-get", *names]) == 0
    assert capfd.readouterr().out.startswith("DEBUG-LM0(n0c0b0m0p0,0)")


def test_judge_rejects(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    case = write(tmp_path / "case", CASE.replace("-4]", "-inf]"))
    assert judge.main([case, write(tmp_path / "solution", SOLUTION)]) == 1
    assert capfd.readouterr().out.splitlines() == [
        "RESULT MISMATCH: pos=[1] expected=-inf actual=-4.0",
        "2 value(s) correct, but 1 value(s) mismatch",
    ]
    for solution, message in (("linc $lq0 $ln0\n", "Line 1"), ("nop; wait i01\n", "mismatch")):
        assert judge.main([case, write(tmp_path / "solution", solution)]) == 1
        captured = capfd.readouterr()
        assert message in captured.out + captured.err
    cheat = "d set $ln0n0c0b0m0p0 1 0000000000000006\nd set $ln2n0c0b0m0p0 1 40000000c0800000\n"
    names = [write(tmp_path / "case", CASE), write(tmp_path / "solution", cheat)]
    assert judge.main(["--enable-set", *names]) == 1
    assert "d set" in capfd.readouterr().out
    assert judge.main([write(tmp_path / "case", "no marker\n"), names[1]]) == 1


def test_expectations() -> None:
    item = parse_item("d getd $lm0 1 # expect=[1, inf] / Float @[0,0],[0,1] atol=1e-3 rtol=0.5")
    assert item is not None
    assert (item.values, item.dtype, item.indices) == ((1, float("inf")), "Float", "[0,0],[0,1]")
    assert (item.atol, item.rtol) == (1e-3, 0.5)
    text = parse_item('d getd $lm0 1 # expect="Hi" / String @[0]')
    assert text is not None and text.values == (0x48, 0x69, 0, 0, 0, 0, 0, 0)
    assert parse_item("d getd $lm0 1") is None
    with pytest.raises(JudgeError, match="unknown type `Quad`"):
        parse_item("d getd $lm0 1 # expect=[1] / Quad @[0]")


def test_result_values() -> None:
    line = "DEBUG-LM0(n0c0b0m0p0,0):(1) (0x3e00800142007fff) #d getd $lm0n0c0b0m0p0 1"
    assert result_values(line, "Half") == [1.0, -0.0, 4.0, float("inf")]
    assert result_values(line, "Short") == [0x3E00, -0x7FFF, 0x4200, 0x7FFF]
    assert DTYPES["Int"].decode(0xFFFFFFFF00000001) == [-1, 1]
    assert close(float("inf"), float("inf"), 0, 0) and not close(1.0, 2.0, 0.5, 0.4) and close(1.0, 2.0, 0, 0.5)


def test_emulator_warns_on_request_and_runs_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = tmp_path / "stream.asm"
    line = next(iter(encode(assemble("lpassa $lm0v $ls0v\n"), FLAT)))
    stream.write_text(f"r 0 000000000 001 0000000000000001\n{line}\nd get $ls0n0c0b0m0p0 1\n")
    assert gpfn3_package_main.main(["-i", str(stream)]) == 0
    plain = capsys.readouterr().err
    assert gpfn3_package_main.main(["-i", str(stream), "--sanitize"]) == 0
    warned = capsys.readouterr().err
    assert warned.startswith(plain) and "nothing has written" in warned[len(plain) :]
